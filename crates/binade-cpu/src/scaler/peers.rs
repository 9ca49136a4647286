//! Exchange between several handles of the CPU, which share its memory.

use super::grad_scaler::{measure, positive};
use crate::{Cpu, Error, Gradients, Tensor, gradients::Measured};
use binade_core::FoundInf;
use binade_grad_scaler::{Norm, PeerDevice, clip_factor};

impl PeerDevice for Cpu {
    fn copy_from(&self, tensor: &Tensor, _: &Self) -> Result<Tensor, Error> {
        Ok(tensor.clone())
    }

    fn found_from(&self, found: &FoundInf, _: &Self) -> Result<FoundInf, Error> {
        Ok(found.clone())
    }

    fn has_gradients(&self, grads: &Gradients) -> bool {
        grads.present().next().is_some()
    }

    fn clip_norms(
        _: &[Self],
        grads: &mut [Gradients],
        (norm, max): (Norm, f32),
        verdicts: &mut [FoundInf],
    ) -> Result<(), Error> {
        positive("clip_norm", max)?;
        let mut all = Measured::default();
        for set in &mut *grads {
            all.join(measure(set)?);
        }
        let norm = all.norm(norm);
        for (set, verdict) in grads.iter_mut().zip(verdicts) {
            verdict.record_norm(norm);
            set.factor.clip = clip_factor(norm, max);
        }
        Ok(())
    }
}
