//! Parameters that join a running optimizer.

use super::{Masters, master_weights::Started, rules::has_shaders};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::structs::{AppliedRow, MOVE},
};
use binade_core::Named;
use binade_master_weights::{Join, Plan};

impl Join for Wgpu {
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
        has_shaders(plan)?;
        self.has_made(&masters.applied)?;
        more.iter().try_for_each(|param| self.has_made(param.value.buffer()))?;
        let mut kept = masters.kept.joining(plan, more.iter().map(|param| &*param.name))?;
        let before = masters.slots.len();
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let Started { slots, lowered } = Started::new(self, &mut kept, &more, plan, first)?;
        // The last that can fail, so that a join that is refused has changed nothing that is seen.
        let count = before + lowered.len();
        let applied = self.zeros(size_of::<AppliedRow>() * count.max(1))?;
        let moves = self.buffer(MOVE * count.max(1))?;
        // Before the counts go over, so that what it clears is cleared there too.
        masters.count_lost(self, plan.counts_lost_updates())?;
        if before > 0 {
            self.copy(&masters.applied, &applied, 0, size_of::<AppliedRow>() * before)?;
        }

        (masters.applied, masters.moves) = (applied, moves);
        masters.kept.absorb(kept);
        masters.slots.extend(slots);
        masters.rules.clear();
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        params.append(&mut more);
        Ok(())
    }
}
