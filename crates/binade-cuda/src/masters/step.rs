//! The launches of a step: constants for all parameters that move, then one fused step for each kind of rule.

use super::{
    Masters,
    by_rule::{ByRule, Told},
    kept::Kept,
    scaled::Opened,
    slot::address,
};
use crate::{
    Cuda, Error, Found, Gradients, Tensor,
    gradients::supported,
    kernels::{PREPARE, THREADS},
    launch::{
        Arg, Grid,
        structs::{MoveRow, ScaledRow, StepRow},
    },
};
use binade_core::Named;
use binade_master_weights::UpdateRule;
use bytemuck::Zeroable;
use std::sync::atomic::Ordering;

/// What moves in a step.
pub(super) struct Moves {
    all: Vec<MoveRow>,
    plain: ByRule,
    /// Those whose masters are opened for the step, and counted when they are packed.
    scaled: ByRule,
    opened: Opened,
}

impl Moves {
    /// None yet, of those that have a gradient in one of `places`.
    pub(super) fn new(grads: &Gradients, places: &[Option<usize>]) -> Self {
        let value = |place: &usize| grads.entries.get(*place)?.value.as_ref();
        let elements = places.iter().flatten().filter_map(value).map(|grad| grad.len() as u64);
        let elements = elements.sum();
        let [plain, scaled] = [ByRule::of(elements), ByRule::of(elements)];
        Self { all: Vec::new(), plain, scaled, opened: Opened::of(elements) }
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
        let by_rule = match slot.kept {
            Kept::Scaled(_) => &mut self.scaled,
            _ => &mut self.plain,
        };
        let rows = by_rule.rows(rule)?;
        let present = grads.flag(place);
        self.all.push(MoveRow {
            present,
            slot: slot.number,
            rule: rules.number(rule, slot.number),
        });
        let gradient_dtype = supported("step with gradients of", grad)?;
        let moments = [0, 1, 2].map(|moment| address(slot.moments[moment].as_ref()));
        let mut beside = slot.beside(param.value.dtype(), applied.address());
        if let Kept::Scaled(scaled) = &slot.kept {
            let step = ScaledRow {
                present,
                gradient: grad.address(),
                moment: moments[0],
                slot: slot.number,
                gradient_dtype,
                is_adam: u32::from(matches!(rule, UpdateRule::Adam(_))),
                ..ScaledRow::zeroed()
            };
            beside.address = self.opened.add(scaled, step);
        }
        let parameter_dtype = supported("train parameters of", &param.value)?;
        rows.add(grad.len(), |first_chunk| StepRow {
            gradient: grad.address(),
            parameter: param.value.address(),
            beside: beside.address,
            moments,
            present,
            len: grad.len() as u64,
            first_chunk,
            seed: beside.seed,
            slot: slot.number,
            gradient_dtype,
            parameter_dtype,
            store: beside.store,
        });
        Ok(())
    }

    /// Puts the step in the stream.
    pub(super) fn run(
        mut self,
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
            Arg::Address(masters.lost.address()),
        ];
        let grid = Grid { blocks: count.div_ceil(THREADS), threads: THREADS };
        cuda.launch(&PREPARE, grid, &args)?;
        let told = Told {
            constants: masters.constants.address(),
            found: found.buffer().address(),
            owed: grads.owed(cuda)?,
            lost: masters.lost.address(),
        };
        self.plain.run(cuda, told)?;
        if self.opened.is_empty() {
            return Ok(());
        }
        let wide = self.opened.open(cuda, told.found)?;
        self.scaled.lie_at(wide.address());
        self.scaled.run(cuda, Told { lost: 0, ..told })?;
        self.opened.pack(cuda, told)
    }
}
