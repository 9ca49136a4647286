//! The dispatches of a step: what each parameter moves by, for all of them, then one fused step for each.

use super::{
    StepTables,
    scaled::{self, OpenedStep},
};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, PrepareRow, RuleRow, count, halves},
    },
    gradients::{flag, flags, pending_factors, supported},
    memory::Buffer,
    shaders::Shader,
};
use binade_gpu::{Driver, MasterState, Rules, Step, StepParam};
use binade_master_weights::{StepConstants, UpdateRule};
use std::sync::atomic::Ordering;

impl StepTables {
    /// Puts a step in the batch.
    pub(super) fn dispatch(&mut self, wgpu: &Wgpu, step: &Step<'_, Wgpu>) -> Result<(), Error> {
        let Self { rules, rule_rows, asked: table, moves, nothing, counts_lost } = self;
        let (mut asked, mut moving) = (Vec::new(), Vec::new());
        for param in step.moving() {
            let (flag, rule) = (flag(step.grads, param.place), rules.number(param.rule));
            asked.push(PrepareRow { flag, slot: param.state.number, rule, pad: 0 });
            moving.push(param);
        }
        if asked.is_empty() {
            return Ok(());
        }
        let attempts = step.attempts.load(Ordering::Relaxed);
        rules.need(attempts);
        let corrections = Bound::whole(rules.corrections(|rows| wgpu.buffer_of(rows))?);
        let rows: Vec<_> = rules.listed.iter().map(|rule| rule_row(rules, rule)).collect();
        let tables = [table.of(wgpu, &asked)?, rule_rows.of(wgpu, &rows)?, corrections];
        let (grads, counts) = (step.grads, step.counts);
        let seen =
            [Bound::whole(&step.found.bits), pending_factors(grads, wgpu)?, flags(grads, wgpu)?];
        let left = [counts, &*moves].map(Bound::whole);
        let bound = tables.into_iter().chain(seen).chain(left).collect();
        let params = structs::Prepare { count: count(asked.len()) };
        wgpu.dispatch("prepare", &params, bound, groups(asked.len()))?;
        let among = StepBuffers { counts, moves, nothing, counts_lost: u32::from(*counts_lost) };
        moving.iter().try_for_each(|param| among.dispatch(wgpu, param))
    }
}

fn rule_row(rules: &Rules<Buffer>, rule: &UpdateRule) -> RuleRow {
    let [first, rows] = rules.corrections_of(rule).map(count);
    let row: [f32; 16] = StepConstants::at(rule, 0).into();
    let constants = row.first_chunk().copied().unwrap_or_default();
    RuleRow { negative_lr: halves((-rule.lr()).to_bits()), first, rows, constants, pad: 0 }
}

/// Bindings of a step's shader without those of its moments.
const BINDINGS: usize = 5;

/// State shared by all parameters of a step.
struct StepBuffers<'a> {
    counts: &'a Buffer,
    moves: &'a Buffer,
    nothing: &'a [Buffer; 4],
    counts_lost: u32,
}

impl StepBuffers<'_> {
    /// The step, of a master that is to be opened between opening and packing it.
    fn dispatch(&self, wgpu: &Wgpu, one: &StepParam<'_, Wgpu>) -> Result<(), Error> {
        let MasterState::Scaled(master) = &one.state.master else {
            return self.fused(wgpu, one, one.state.master.tensor());
        };
        let during = OpenedStep::step(self.moves, self.counts, one.state.number, self.counts_lost);
        let wide = scaled::open(master, wgpu, during)?;
        self.fused(wgpu, one, Some(&wide))?;
        scaled::pack(master, wgpu, &wide, during)
    }

    /// The fused step, in parts where a binding does not hold it.
    fn fused(
        &self,
        wgpu: &Wgpu,
        StepParam { state: slot, param, grad, rule, .. }: &StepParam<'_, Wgpu>,
        beside: Option<&Tensor>,
    ) -> Result<(), Error> {
        let (store, seed) = slot.master.code(param.dtype());
        let [seed_low, seed_high] = halves(seed);
        let gradient_dtype = supported("step with gradients of", grad)?;
        let dtype = supported("train parameters of", param)?;
        let shader: &Shader = rule.name().into();
        let moments = shader.bindings.len().saturating_sub(BINDINGS);
        let each = beside.map_or(4, |beside| beside.dtype().bytes().max(4));
        for part in parts(param.len(), each, wgpu.facts().most_binding_bytes) {
            let (gradient, start) = Bound::elements(grad, part.clone());
            let params = structs::Step {
                len: count(part.len()),
                block: count(part.start / GROUP),
                gradient_dtype,
                start,
                dtype,
                store,
                slot: slot.number,
                seed_low,
                seed_high,
                counts: self.counts_lost,
            };
            let parameter = Bound::elements(param, part.clone()).0;
            let mut bound = vec![Bound::whole(self.moves), gradient, parameter];
            let kept = slot.moments.iter().map(Option::as_ref).take(moments);
            for (kept, nothing) in [beside].into_iter().chain(kept).zip(self.nothing) {
                bound.push(match kept {
                    Some(kept) => Bound::elements(kept, part.clone()).0,
                    None => Bound::whole(nothing),
                });
            }
            bound.push(Bound::whole(self.counts));
            wgpu.dispatch(shader, &params, bound, groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(())
    }
}
