//! Gradients of a rank.

use super::CudaRank;
use crate::{CudaError, Error, Found, Gradients, Tensor};
use binade_core::{GradSet, Named, NamedGrads, TrainError};

/// Gradients of a rank: its own until they are unscaled, and the average over all ranks from there on.
#[derive(Clone, Debug)]
pub struct RankGradients {
    pub(super) set: Gradients,
    /// True if these are the averages, with equal bits on all ranks.
    pub(super) is_average: bool,
}

impl RankGradients {
    pub(super) fn average(set: Gradients) -> Self {
        Self { set, is_average: true }
    }

    /// Returns the average, and refuses a rank's own gradients.
    pub(super) fn averaged(&mut self) -> Result<&mut Gradients, Error> {
        if self.is_average { Ok(&mut self.set) } else { Err(not_averaged()) }
    }

    /// Returns the average, and refuses a rank's own gradients.
    pub(super) fn into_average(self) -> Result<Gradients, Error> {
        if self.is_average { Ok(self.set) } else { Err(not_averaged()) }
    }
}

fn not_averaged() -> Error {
    Error::Driver(CudaError::NotAveraged)
}

impl From<Vec<Named<Option<Tensor>>>> for RankGradients {
    fn from(grads: NamedGrads<Tensor>) -> Self {
        Gradients::from(grads).into()
    }
}

impl From<Gradients> for RankGradients {
    fn from(set: Gradients) -> Self {
        Self { set, is_average: false }
    }
}

impl GradSet for CudaRank {
    type Params = Vec<Named<Tensor>>;
    type Grads = RankGradients;
    type Found = Found;

    fn train_error(&self, error: TrainError) -> Error {
        error.into()
    }

    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        self.alone(|cuda| cuda.is_raised(found))
    }

    fn materialise(&self, grads: RankGradients) -> Result<NamedGrads<Tensor>, Error> {
        let average = grads.into_average()?;
        self.alone(|cuda| cuda.materialise(average))
    }
}
