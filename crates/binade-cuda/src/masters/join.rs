//! Parameters that join a running optimizer.

use super::{Masters, master_weights::Started, rules::has_kernels};
use crate::{Cuda, Error, Tensor, launch::structs::CONSTANTS};
use binade_core::Named;
use binade_master_weights::{Join, Plan};

impl Join for Cuda {
    /// Counts go over on the device, so that nothing is waited for but where [`masters`] would wait too.
    ///
    /// [`masters`]: binade_master_weights::MasterWeights::masters
    fn join(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut Masters,
        mut more: Vec<Named<Tensor>>,
        plan: &Plan,
    ) -> Result<(), Error> {
        has_kernels(plan)?;
        self.has_made(&masters.applied)?;
        more.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        masters.can_join(self, plan, more.iter().map(|param| &*param.name))?;
        let mut kept = masters.kept.joining(plan, more.iter().map(|param| &*param.name))?;
        let first = u32::try_from(masters.slots.len()).unwrap_or(u32::MAX);
        let Started { slots, lowered } = Started::new(self, &mut kept, &more, plan, first)?;
        // The last that can fail, so that a join that is refused has changed nothing.
        let count = masters.slots.len() + lowered.len();
        let applied = self.grown(&masters.applied, 8 * count)?;
        let constants = self.buffer(CONSTANTS * count)?;
        let lost = masters.lost.next(self, count, plan.counts_lost_updates())?;

        // Constants are made anew in every step; whoever gets the memory of the old ones comes behind those that read them.
        (masters.applied, masters.constants, masters.lost) = (applied, constants, lost);
        masters.kept.absorb(kept);
        masters.slots.extend(slots);
        masters.rules.clear();
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        params.append(&mut more);
        Ok(())
    }
}
