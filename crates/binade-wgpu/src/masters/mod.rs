//! Master weights on the device: the fused step, predicated there.

mod measure;
mod scaled;
mod step;
mod table;

use crate::{
    Error, Wgpu,
    dispatch::{
        Bound, groups,
        structs::{self, AppliedRow, MOVE, count},
    },
    memory::Buffer,
};
use binade_gpu::{Driver, Rules, Step, StepState};
use binade_master_weights::LostUpdates;
use std::sync::atomic::Ordering;
use table::Table;

/// Tables that a step's shaders read and write.
#[derive(Debug)]
pub struct StepTables {
    rules: Rules<Buffer>,
    /// A row for each rule.
    rule_rows: Table,
    /// Table of the gradients that the last step asked for.
    asked: Table,
    /// Constants of each parameter's next step.
    moves: Buffer,
    /// Buffers in the place of those that a rule or a store does not keep.
    nothing: [Buffer; 4],
    counts_lost: bool,
}

impl StepState<Wgpu> for StepTables {
    const COUNT_BYTES: usize = size_of::<AppliedRow>();

    fn new(wgpu: &Wgpu, parameters: usize, counts_lost: bool) -> Result<Self, Error> {
        let moves = wgpu.buffer(MOVE * parameters.max(1))?;
        let nothing = [wgpu.buffer(4)?, wgpu.buffer(4)?, wgpu.buffer(4)?, wgpu.buffer(4)?];
        let (rule_rows, asked) = (Table::default(), Table::default());
        Ok(Self { rules: Rules::default(), rule_rows, asked, moves, nothing, counts_lost })
    }

    fn change(
        &mut self,
        wgpu: &Wgpu,
        counts: &Buffer,
        [before, parameters]: [usize; 2],
        counts_lost: bool,
    ) -> Result<(), Error> {
        let is_more = parameters > before;
        let moves = is_more.then(|| wgpu.buffer(MOVE * parameters)).transpose()?;
        if counts_lost && !self.counts_lost && before > 0 {
            let params = structs::Prepare { count: count(parameters) };
            let bound = vec![Bound::whole(counts)];
            wgpu.dispatch("forget_lost", &params, bound, groups(parameters))?;
        }
        if let Some(moves) = moves {
            self.moves = moves;
        }
        self.counts_lost = counts_lost;
        self.rules.listed.clear();
        Ok(())
    }

    fn step(&mut self, wgpu: &Wgpu, step: Step<'_, Wgpu>) -> Result<(), Error> {
        step.attempts.fetch_add(1, Ordering::Relaxed);
        self.dispatch(wgpu, &step)
    }

    fn read_lost(
        &self,
        _: &Wgpu,
        counts: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<LostUpdates>, Error> {
        let lost = |row| {
            let AppliedRow { lost, moved, .. } = bytemuck::pod_read_unaligned(row);
            LostUpdates { lost: lost.into(), moved: moved.into() }
        };
        Ok(counts()?.chunks_exact(Self::COUNT_BYTES).map(lost).collect())
    }
}
