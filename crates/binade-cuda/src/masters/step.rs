//! The launches of a step: constants for all parameters that move, then one fused step for each kind of rule.

use super::{Masters, rules::unsteppable, slot::address};
use crate::{
    Cuda, Error, Found, Gradients, Tensor,
    gradients::supported,
    kernels::{ADAM, Kernel, PREPARE, SGD, THREADS},
    launch::{
        Arg, Grid,
        structs::{MoveRow, StepRow},
    },
    set::Chunks,
};
use binade_core::Named;
use binade_master_weights::UpdateRule;
use std::sync::atomic::Ordering;

/// What moves in a step.
pub(super) struct Moves {
    all: Vec<MoveRow>,
    sgd: Rows,
    adam: Rows,
}

/// The parameters that one kernel moves.
struct Rows {
    rows: Vec<StepRow>,
    chunks: Chunks,
}

impl Rows {
    fn of(elements: u64) -> Self {
        Self { rows: Vec::new(), chunks: Chunks::of(elements) }
    }
}

impl Moves {
    /// None yet, of those that have a gradient in one of `places`.
    pub(super) fn new(grads: &Gradients, places: &[Option<usize>]) -> Self {
        let value = |place: &usize| grads.entries.get(*place)?.value.as_ref();
        let elements = places.iter().flatten().filter_map(value).map(|grad| grad.len() as u64);
        let elements = elements.sum();
        Self { all: Vec::new(), sgd: Rows::of(elements), adam: Rows::of(elements) }
    }

    /// Adds a parameter, whose gradient is at `place`.
    pub(super) fn add(
        &mut self,
        param: &Named<Tensor>,
        masters: &mut Masters,
        grads: &Gradients,
        place: usize,
    ) -> Result<(), Error> {
        let Masters { kept, slots, rules, applied, .. } = masters;
        let grad = grads.entries.get(place).and_then(|entry| entry.value.as_ref());
        let (Some(grad), Some(slot), Some(rule)) =
            (grad, slots.get(&param.name), kept.rule(&param.name))
        else {
            return Ok(());
        };
        let rows = match rule {
            UpdateRule::Sgd(_) => &mut self.sgd,
            UpdateRule::Adam(_) => &mut self.adam,
            other => return Err(unsteppable(other)),
        };
        let present = grads.flag(place);
        self.all.push(MoveRow {
            present,
            slot: slot.number,
            rule: rules.number(rule, slot.number),
        });
        let len = grad.len() as u64;
        let beside = slot.beside(param.value.dtype(), applied.address());
        rows.rows.push(StepRow {
            gradient: grad.address(),
            parameter: param.value.address(),
            beside: beside.address,
            moments: [0, 1, 2].map(|moment| address(slot.moments[moment].as_ref())),
            present,
            len,
            first_chunk: rows.chunks.add(len),
            seed: beside.seed,
            slot: slot.number,
            gradient_dtype: supported("step with gradients of", grad)?,
            parameter_dtype: supported("train parameters of", &param.value)?,
            store: beside.store,
        });
        Ok(())
    }

    /// Puts the step in the stream.
    pub(super) fn run(
        self,
        cuda: &Cuda,
        masters: &mut Masters,
        grads: &Gradients,
        found: &Found,
    ) -> Result<(), Error> {
        let Ok(count @ 1..) = u32::try_from(self.all.len()) else { return Ok(()) };
        let attempts = masters.attempts.load(Ordering::Relaxed);
        let rules = masters.rules.table(cuda, attempts)?;
        let moves = cuda.table(&self.all)?;
        let args = [
            Arg::Address(moves.address()),
            Arg::U32(count),
            Arg::Address(rules.address()),
            Arg::Address(found.buffer().address()),
            Arg::Address(masters.applied.address()),
            Arg::Address(masters.constants.address()),
        ];
        let grid = Grid { blocks: count.div_ceil(THREADS), threads: THREADS };
        cuda.launch(&PREPARE, grid, &args)?;
        self.sgd.run(cuda, &SGD, masters, grads, found)?;
        self.adam.run(cuda, &ADAM, masters, grads, found)
    }
}

impl Rows {
    fn run(
        &self,
        cuda: &Cuda,
        kernel: &'static Kernel,
        masters: &Masters,
        grads: &Gradients,
        found: &Found,
    ) -> Result<(), Error> {
        if self.chunks.count == 0 {
            return Ok(());
        }
        let table = cuda.table(&self.rows)?;
        let args = [
            Arg::Address(table.address()),
            Arg::U32(u32::try_from(self.rows.len()).unwrap_or(u32::MAX)),
            Arg::U64(0),
            Arg::U64(self.chunks.len),
            Arg::Address(masters.constants.address()),
            Arg::Address(found.buffer().address()),
            Arg::Address(grads.owed(cuda)?),
        ];
        cuda.launch(kernel, Grid { blocks: self.chunks.blocks(), threads: THREADS }, &args)
    }
}
