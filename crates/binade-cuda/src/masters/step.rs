//! The launches of a step: constants for all parameters that move, then one fused step for each kind of rule.

use super::{StepTables, rules::CudaRules, scaled::OpenedMasters};
use crate::{
    Cuda, Error, Tensor,
    chunks::{Rows, flag, supported},
    kernels::{PREPARE, THREADS},
    launch::{
        Arg, Grid, args,
        structs::{MoveRow, ScaledRow, StepRow},
    },
};
use binade_gpu::{MasterState, Step, StepParam};
use binade_master_weights::UpdateRule;
use bytemuck::Zeroable;
use std::sync::atomic::Ordering;

/// `Store` of `step.cuh`: random rounding, by the count of applied steps.
const STOCHASTIC: u32 = 3;

/// The address of a tensor that may not be there, or 0.
fn address(tensor: Option<&Tensor>) -> u64 {
    tensor.map_or(0, Tensor::address)
}

/// Rows of the parameters that each kernel moves, by its name.
type RowsByRule = Vec<(&'static str, Rows<StepRow>)>;

/// Parameters that a step moves.
pub(super) struct StepBatch {
    elements: u64,
    all: Vec<MoveRow>,
    plain: RowsByRule,
    /// Parameters whose masters are opened for the step, and counted when they are packed.
    scaled: RowsByRule,
    opened: Option<OpenedMasters>,
}

impl StepBatch {
    /// Lists the parameters that a step moves.
    pub(super) fn of(step: &Step<'_, Cuda>, rules: &mut CudaRules) -> Result<Self, Error> {
        let elements = step.moving().map(|moving| moving.grad.len() as u64).sum();
        let [plain, scaled] = [Vec::new(), Vec::new()];
        let mut moves = Self { elements, all: Vec::new(), plain, scaled, opened: None };
        step.moving().try_for_each(|moving| moves.add(step, rules, moving))?;
        Ok(moves)
    }

    /// Adds a parameter with its gradient.
    fn add(
        &mut self,
        step: &Step<'_, Cuda>,
        rules: &mut CudaRules,
        StepParam { param, state: slot, rule, grad, place }: StepParam<'_, Cuda>,
    ) -> Result<(), Error> {
        let present = flag(step.grads, place);
        let number = rules.number(rule, slot.number);
        self.all.push(MoveRow { present, slot: slot.number, rule: number });
        let gradient_dtype = supported("step with gradients of", grad)?;
        let parameter_dtype = supported("train parameters of", param)?;
        let (store, seed) = slot.master.code(param.dtype());
        let (by_rule, beside) = match &slot.master {
            MasterState::Scaled(scaled) => {
                let row = ScaledRow { present, slot: slot.number, ..ScaledRow::zeroed() };
                let counts_lost = step.kept.lost_updates().is_some();
                let new = || OpenedMasters::of(self.elements, counts_lost);
                (&mut self.scaled, self.opened.get_or_insert_with(new).add(scaled, row))
            }
            MasterState::Stochastic { .. } if store == STOCHASTIC => {
                (&mut self.plain, step.counts.address() + 8 * u64::from(slot.number))
            }
            master => (&mut self.plain, address(master.tensor())),
        };
        let moments = [0, 1, 2].map(|moment| address(slot.moments[moment].as_ref()));
        rows_of(by_rule, rule, self.elements).add(grad.len(), |first_chunk| StepRow {
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
        self,
        cuda: &Cuda,
        tables: &mut StepTables,
        step: &Step<'_, Cuda>,
    ) -> Result<(), Error> {
        let Ok(count @ 1..) = u32::try_from(self.all.len()) else { return Ok(()) };
        let rules = tables.rules.table(cuda, step.attempts.load(Ordering::Relaxed))?;
        let moves = cuda.table(&self.all)?;
        let (constants, lost) = (&tables.constants, tables.lost.as_deref());
        let (found, owed) = (&*step.found.bits, step.grads.pending_factors(cuda)?);
        let args = args![&*moves, count, &*rules, found, step.counts, constants, lost];
        let grid = Grid { blocks: count.div_ceil(THREADS), threads: THREADS };
        cuda.launch(PREPARE, grid, &args)?;
        let args = args![constants, found, owed, lost];
        run(cuda, &self.plain, &args)?;
        let (Some(mut opened), mut scaled) = (self.opened, self.scaled) else { return Ok(()) };
        let wide = opened.open(cuda, found)?;
        // Their masters are told as offsets.
        let rows = scaled.iter_mut().flat_map(|(_, rows)| &mut rows.rows);
        rows.for_each(|row| row.beside += wide.address());
        run(cuda, &scaled, &args)?;
        opened.pack(cuda, args![found, lost])
    }
}

/// Returns the rows of the parameters that `rule` moves, in a set of so many elements.
fn rows_of<'r>(
    by_rule: &'r mut RowsByRule,
    rule: &UpdateRule,
    elements: u64,
) -> &'r mut Rows<StepRow> {
    let known = by_rule.iter().position(|(name, _)| *name == rule.name());
    let place = known.unwrap_or(by_rule.len());
    if known.is_none() {
        by_rule.push((rule.name(), Rows::of(elements)));
    }
    &mut by_rule[place].1
}

/// Puts the fused steps in the stream, whose last arguments are the same for all rules.
fn run(cuda: &Cuda, by_rule: &RowsByRule, last: &[Arg<'_>]) -> Result<(), Error> {
    by_rule.iter().try_for_each(|(kernel, rows)| {
        let chunks = [Arg::U64(0), Arg::U64(rows.chunks.len)];
        rows.launch(cuda, *kernel, &[&chunks[..], last].concat())
    })
}
