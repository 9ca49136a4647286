//! What the device keeps for one parameter.

use super::kept::{Beside, Kept};
use crate::{Cuda, Error, Tensor};
use binade_core::DType;
use binade_master_weights::{MasterStore, UpdateRule};
use binade_ops::Download;

#[derive(Debug)]
pub(super) struct Slot {
    /// Its place among counts and constants.
    pub(super) number: u32,
    pub(super) kept: Kept,
    /// In the rule's order; those that it does not keep are `None`.
    pub(super) moments: [Option<Tensor>; 3],
    len: usize,
    pub(super) stored: DType,
}

impl Slot {
    /// For a parameter whose values are `values`, which nobody else may write to, and the parameter as it is to be stored.
    pub(super) fn new(
        cuda: &Cuda,
        number: u32,
        values: &Tensor,
        (store, stored): (MasterStore, DType),
        rule: &UpdateRule,
    ) -> Result<(Self, Tensor), Error> {
        let (kept, low) = Kept::new(cuda, store, values, stored)?;
        let mut moments = [None, None, None];
        for moment in moments.iter_mut().take(rule.moments()) {
            let zeros = cuda.zeros(4 * values.len())?;
            *moment = Some(Tensor::filling(zeros, DType::F32, values.shape()));
        }
        Ok((Self { number, kept, moments, len: values.len(), stored }, low))
    }

    /// What a step's row says of the store, the parameter being stored as `now`; counts of applied steps are at `applied`.
    pub(super) fn beside(&self, now: DType, applied: u64) -> Beside {
        self.kept.beside(now, applied + 8 * u64::from(self.number))
    }

    pub(super) fn master_bytes(&self) -> u64 {
        self.kept.tensor().map_or(0, |kept| kept.bytes() as u64)
    }

    pub(super) fn moment_bytes(&self) -> u64 {
        self.moments.iter().flatten().map(|moment| moment.bytes() as u64).sum()
    }

    pub(super) fn read(
        &self,
        cuda: &Cuda,
        applied: u64,
    ) -> Result<binade_master_weights::Slot, Error> {
        let mut moments = [const { Vec::new() }; 3];
        for (to, from) in moments.iter_mut().zip(&self.moments) {
            if let Some(from) = from {
                *to = cuda.download(from)?;
            }
        }
        let master = self.kept.read(cuda, self.number)?;
        let Self { len, stored, .. } = *self;
        Ok(binade_master_weights::Slot { master, moments, len, stored, applied, lost: None })
    }

    /// The `f32` values of its parameter, `param`.
    pub(super) fn values(&self, cuda: &Cuda, param: &Tensor) -> Result<Vec<f32>, Error> {
        match &self.kept {
            Kept::Copy(master) => cuda.download(master),
            Kept::Nothing | Kept::Stochastic { .. } => cuda.download(param),
            Kept::Remainder(_) | Kept::Kahan(_) | Kept::Scaled(_) => {
                Ok(self.read(cuda, 0)?.values_of(&cuda.download(param)?))
            }
        }
    }
}

/// The address of a tensor that may not be there, or 0.
pub(super) fn address(tensor: Option<&Tensor>) -> u64 {
    tensor.map_or(0, Tensor::address)
}
