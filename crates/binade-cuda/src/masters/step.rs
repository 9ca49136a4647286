//! The launches of a step: constants for all parameters that move, then one fused step for each kind of rule.

use super::{
    StepTables,
    rows_by_rule::{RowsByRule, StepArgs},
    rules::Rules,
    scaled::OpenedMasters,
};
use crate::{
    Cuda, Error, Tensor,
    gradients::{flag, supported},
    kernels::{PREPARE, THREADS},
    launch::{
        Arg, Grid,
        structs::{MoveRow, ScaledRow, StepRow},
    },
};
use binade_gpu::{MasterState, Step, StepParam};
use bytemuck::Zeroable;
use std::sync::atomic::Ordering;

/// `Store` of `step.cuh`: random rounding, by the count of applied steps.
const STOCHASTIC: u32 = 3;

/// The address of a tensor that may not be there, or 0.
fn address(tensor: Option<&Tensor>) -> u64 {
    tensor.map_or(0, Tensor::address)
}

/// Parameters that a step moves.
pub(super) struct StepBatch {
    all: Vec<MoveRow>,
    plain: RowsByRule,
    /// Parameters whose masters are opened for the step, and counted when they are packed.
    scaled: RowsByRule,
    opened: OpenedMasters,
}

impl StepBatch {
    /// Lists the parameters that a step moves.
    pub(super) fn of(step: &Step<'_, Cuda>, rules: &mut Rules) -> Result<Self, Error> {
        let elements = step.moving().map(|moving| moving.grad.len() as u64).sum();
        let [plain, scaled] = [RowsByRule::of(elements), RowsByRule::of(elements)];
        let opened = OpenedMasters::of(elements, step.kept.lost_updates().is_some());
        let mut moves = Self { all: Vec::new(), plain, scaled, opened };
        step.moving().try_for_each(|moving| moves.add(step, rules, moving))?;
        Ok(moves)
    }

    /// Adds a parameter with its gradient.
    fn add(
        &mut self,
        step: &Step<'_, Cuda>,
        rules: &mut Rules,
        StepParam { param, state: slot, rule, grad, place }: StepParam<'_, Cuda>,
    ) -> Result<(), Error> {
        let by_rule = match slot.master {
            MasterState::Scaled(_) => &mut self.scaled,
            _ => &mut self.plain,
        };
        let rows = by_rule.rows(rule);
        let present = flag(step.grads, place);
        self.all.push(MoveRow {
            present,
            slot: slot.number,
            rule: rules.number(rule, slot.number),
        });
        let gradient_dtype = supported("step with gradients of", grad)?;
        let moments = [0, 1, 2].map(|moment| address(slot.moments[moment].as_ref()));
        let (store, seed) = slot.master.code(param.dtype());
        let (beside, store) = match &slot.master {
            MasterState::Scaled(scaled) => {
                let row = ScaledRow { present, slot: slot.number, ..ScaledRow::zeroed() };
                (self.opened.add(scaled, row), store)
            }
            MasterState::Stochastic { .. } if store == STOCHASTIC => {
                (step.counts.address() + 8 * u64::from(slot.number), store)
            }
            master => (address(master.tensor()), store),
        };
        let parameter_dtype = supported("train parameters of", param)?;
        rows.add(grad.len(), |first_chunk| StepRow {
            gradient: grad.address(),
            parameter: param.address(),
            beside,
            moments,
            present,
            len: grad.len() as u64,
            first_chunk,
            seed,
            slot: slot.number,
            gradient_dtype,
            parameter_dtype,
            store,
        });
        Ok(())
    }

    /// Puts the step in the stream.
    pub(super) fn run(
        mut self,
        cuda: &Cuda,
        tables: &mut StepTables,
        step: &Step<'_, Cuda>,
    ) -> Result<(), Error> {
        let Ok(count @ 1..) = u32::try_from(self.all.len()) else { return Ok(()) };
        let attempts = step.attempts.load(Ordering::Relaxed);
        let rules = tables.rules.table(cuda, attempts)?;
        let moves = cuda.table(&self.all)?;
        let args = [
            Arg::Address(moves.address()),
            Arg::U32(count),
            Arg::Address(rules.address()),
            Arg::Address(step.found.buffer().address()),
            Arg::Address(step.counts.address()),
            Arg::Address(tables.constants.address()),
            Arg::Address(tables.lost.address()),
        ];
        let grid = Grid { blocks: count.div_ceil(THREADS), threads: THREADS };
        cuda.launch(PREPARE, grid, &args)?;
        let told = StepArgs {
            constants: tables.constants.address(),
            found: step.found.buffer().address(),
            owed: step.grads.pending_factors(cuda)?.address(),
            lost: tables.lost.address(),
        };
        self.plain.run(cuda, told)?;
        if self.opened.is_empty() {
            return Ok(());
        }
        let wide = self.opened.open(cuda, told.found)?;
        self.scaled.set_base_address(wide.address());
        self.scaled.run(cuda, told)?;
        self.opened.pack(cuda, told.found, told.lost)
    }
}
