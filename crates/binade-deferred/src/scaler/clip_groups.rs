//! Clipping by groups, which are host knowledge; norms and factors are not.

use super::Found;
use crate::{Deferred, Error, Gradients, stand_in};
use binade_core::Finding;
use binade_cpu::Cpu;
use binade_grad_scaler::{ClipGroup, ClipGroups};

impl ClipGroups for Deferred {
    fn clip_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        // What does not fit is refused now, not when the job is run.
        let mut likes = stand_in::gradients(&grads.likes)?;
        Cpu.clip_groups(&mut likes, groups, &mut Finding::default())?;
        let (before, groups) = (verdict.0.clone(), groups.to_vec());
        verdict.0 = grads.change(self, move |grads| {
            let mut verdict = before.take()?;
            Cpu.clip_groups(grads, &groups, &mut verdict)?;
            Ok(verdict)
        });
        Ok(())
    }
}
