//! What the device keeps for one parameter.

use crate::{Cuda, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_master_weights::{Master, UpdateRule};
use binade_ops::Download;

#[derive(Debug)]
pub(super) struct Slot {
    /// Its place among counts and constants.
    pub(super) number: u32,
    /// `None` where the parameter is its own master, or none is kept.
    pub(super) master: Option<Tensor>,
    /// In the rule's order; those that it does not keep are `None`.
    pub(super) moments: [Option<Tensor>; 3],
    len: usize,
    stored: DType,
}

impl Slot {
    /// For a parameter whose values are `values`, which nobody else may write to: how it is to be stored, and whether it
    /// has a master.
    pub(super) fn new(
        cuda: &Cuda,
        number: u32,
        values: &Tensor,
        (stored, has_master): (DType, bool),
        rule: &UpdateRule,
    ) -> Result<Self, Error> {
        let mut master = None;
        if has_master {
            let mut wide = cuda.cast(values, DType::F32)?;
            wide.own(cuda)?;
            master = Some(wide);
        }
        let mut moments = [None, None, None];
        for moment in moments.iter_mut().take(rule.moments()) {
            let zeros = cuda.zeros(4 * values.len())?;
            *moment = Some(Tensor::filling(zeros, DType::F32, values.shape()));
        }
        Ok(Self { number, master, moments, len: values.len(), stored })
    }

    pub(super) fn master_bytes(&self) -> u64 {
        self.master.as_ref().map_or(0, |master| master.bytes() as u64)
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
        let master = match &self.master {
            Some(master) => Master::Copy(cuda.download(master)?),
            None => Master::Nothing,
        };
        let Self { len, stored, .. } = *self;
        Ok(binade_master_weights::Slot { master, moments, len, stored, applied, lost: None })
    }
}

/// The address of a tensor that may not be there, or 0.
pub(super) fn address(tensor: Option<&Tensor>) -> u64 {
    tensor.map_or(0, Tensor::address)
}
