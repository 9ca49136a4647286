//! What the device keeps for one parameter.

use super::kept::Kept;
use crate::{Error, Tensor, Wgpu};
use binade_core::DType;
use binade_master_weights::{MasterStore, UpdateRule};
use binade_ops::{Download, Fill};

#[derive(Debug)]
pub(super) struct Slot {
    /// Its place among counts and moves.
    pub(super) number: u32,
    pub(super) kept: Kept,
    /// In the rule's order; those that it does not keep are `None`.
    pub(super) moments: [Option<Tensor>; 3],
    len: usize,
    pub(super) stored: DType,
}

impl Slot {
    /// For a parameter whose values are `values`, and the parameter as it is to be stored.
    pub(super) fn new(
        wgpu: &Wgpu,
        number: u32,
        values: &Tensor,
        (store, stored): (MasterStore, DType),
        rule: &UpdateRule,
    ) -> Result<(Self, Tensor), Error> {
        let (kept, low) = Kept::new(wgpu, store, values, stored)?;
        let mut moments = [None, None, None];
        for moment in moments.iter_mut().take(rule.moments()) {
            *moment = Some(wgpu.fill(0.0, values.shape(), DType::F32)?);
        }
        Ok((Self { number, kept, moments, len: values.len(), stored }, low))
    }

    pub(super) fn master_bytes(&self) -> u64 {
        self.kept.tensor().map_or(0, |kept| kept.bytes() as u64)
    }

    pub(super) fn moment_bytes(&self) -> u64 {
        self.moments.iter().flatten().map(|moment| moment.bytes() as u64).sum()
    }

    pub(super) fn read(
        &self,
        wgpu: &Wgpu,
        applied: u64,
    ) -> Result<binade_master_weights::Slot, Error> {
        let mut moments = [const { Vec::new() }; 3];
        for (to, from) in moments.iter_mut().zip(&self.moments) {
            if let Some(from) = from {
                *to = wgpu.download(from)?;
            }
        }
        let master = self.kept.read(wgpu, self.number)?;
        let Self { len, stored, .. } = *self;
        Ok(binade_master_weights::Slot { master, moments, len, stored, applied, lost: None })
    }

    /// The `f32` values of its parameter, `param`.
    pub(super) fn values(&self, wgpu: &Wgpu, param: &Tensor) -> Result<Vec<f32>, Error> {
        match &self.kept {
            Kept::Copy(master) => wgpu.download(master),
            Kept::Nothing | Kept::Stochastic { .. } => wgpu.download(param),
            Kept::Remainder(_) | Kept::Kahan(_) | Kept::Scaled(_) => {
                Ok(self.read(wgpu, 0)?.values_of(&wgpu.download(param)?))
            }
        }
    }
}
