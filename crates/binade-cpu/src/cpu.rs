//! Handle of the CPU.

use crate::{Error, Gradients, Tensor};
use binade_core::{FoundInf, GradSet, Handle, Named, NamedGrads, TrainError};

/// Device that computes on the CPU. It has no fields. Work runs on the calling thread and on those of rayon's current pool; results do not depend on
/// their number.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Cpu;

impl Handle for Cpu {
    type Tensor = Tensor;
    type Error = Error;
}

impl GradSet for Cpu {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> Error {
        error.into()
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, Error> {
        Ok(found.is_raised())
    }

    fn materialise(&self, grads: Gradients) -> Result<NamedGrads<Tensor>, Error> {
        grads.materialised()
    }
}
