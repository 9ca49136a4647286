//! Counts of applied steps, and of what each parameter's last step lost, on the device.

use super::Masters;
use crate::{
    Error, Wgpu,
    dispatch::{
        Bound, groups,
        structs::{self, AppliedRow, count},
    },
    shaders::{Access::Write, Shader},
};
use binade_gpu::Driver;
use binade_master_weights::LostUpdates;

pub(super) const FORGET: Shader =
    Shader { name: "forget_lost", bindings: &[(7, Write)], ..super::step::PREPARE };

impl AppliedRow {
    pub(super) fn lost(self) -> LostUpdates {
        LostUpdates { lost: self.lost.into(), moved: self.moved.into() }
    }
}

impl Masters {
    /// What the last step of each parameter lost, together; `None` where the plan does not ask for it. A read, which waits
    /// for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn lost_updates(&self, wgpu: &Wgpu) -> Result<Option<LostUpdates>, Error> {
        if !self.counts_lost {
            return Ok(None);
        }
        let mut all = LostUpdates::default();
        self.read_applied(wgpu)?.iter().for_each(|row| all += row.lost());
        Ok(Some(all))
    }

    /// By slot. Waits for the device.
    pub(super) fn read_applied(&self, wgpu: &Wgpu) -> Result<Vec<AppliedRow>, Error> {
        wgpu.has_made(&self.applied)?;
        let bytes = match self.slots.len() {
            0 => return Ok(Vec::new()),
            slots => slots * size_of::<AppliedRow>(),
        };
        let bytes = wgpu.receive(&wgpu.send(&self.applied, 0..bytes)?)?;
        let rows = bytes.chunks_exact(size_of::<AppliedRow>());
        Ok(rows.map(bytemuck::pod_read_unaligned).collect())
    }

    /// Counts from now on if `counted`, from zero on if not before.
    pub(super) fn count_lost(&mut self, wgpu: &Wgpu, counted: bool) -> Result<(), Error> {
        let slots = self.slots.len();
        if counted && !self.counts_lost && slots > 0 {
            let params = structs::Prepare { count: count(slots) };
            wgpu.dispatch(&FORGET, &params, vec![Bound::whole(&self.applied)], groups(slots))?;
        }
        self.counts_lost = counted;
        Ok(())
    }
}
