//! Dispatches of a step: first the constants of all parameters' updates, then one fused step for each parameter.

use super::{
    StepTables,
    measure::{norm_of, partials_of},
    scaled::{self, OpenedStep},
};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, CHUNK, PrepareRow, RuleRow, count, halves},
    },
    gradients::{flag, flags, pending_factors, supported},
    memory::Buffer,
    shaders::Shader,
};
use binade_gpu::{Driver, MasterState, RuleNumbers, Rules, Step, StepParam};
use binade_master_weights::UpdateRule;
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
        // The norm comes before the counts change, since memory may be short.
        let norm = norm_of(wgpu, step)?;
        let partials = partials_of(wgpu, moving.iter())?;
        let seen =
            [Bound::whole(&step.found.bits), pending_factors(grads, wgpu)?, flags(grads, wgpu)?];
        let left = [counts, &*moves].map(Bound::whole);
        let bound = tables.into_iter().chain(seen).chain(left).collect();
        let params = structs::Prepare { count: count(asked.len()) };
        wgpu.dispatch("prepare", &params, bound, groups(asked.len()))?;
        let together = norm.as_ref().unwrap_or(&step.found.bits);
        let (partials, counts_lost) = (partials.as_ref(), u32::from(*counts_lost));
        let among = StepBuffers { counts, moves, nothing, together, partials, counts_lost };
        moving.iter().try_for_each(|param| among.dispatch(wgpu, param))
    }
}

fn rule_row(rules: &Rules<Buffer>, rule: &UpdateRule) -> RuleRow {
    let RuleNumbers { negative_lr, corrections, constants, has_divisors } = rules.numbers_of(rule);
    let ([first, rows], negative_lr) = (corrections.map(count), halves(negative_lr.to_bits()));
    RuleRow { negative_lr, first, rows, constants, has_divisors, pad: 0 }
}

/// Shader with the groups of a grid that goes through so many elements.
type GridOf = (&'static Shader, fn(usize) -> u32);

/// State shared by all parameters of a step.
pub(super) struct StepBuffers<'a> {
    counts: &'a Buffer,
    pub(super) moves: &'a Buffer,
    pub(super) nothing: &'a [Buffer; 4],
    /// Verdict with the norm of all gradients together, where a rule clips by it.
    pub(super) together: &'a Buffer,
    /// Room for the partial norms of a tensor, if a rule needs norms of tensors.
    partials: Option<&'a Buffer>,
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

    /// Dispatches the fused step, after the dispatches that compute the tensor's norms if its rule needs them.
    fn fused(
        &self,
        wgpu: &Wgpu,
        one: &StepParam<'_, Wgpu>,
        beside: Option<&Tensor>,
    ) -> Result<(), Error> {
        if let Some(partials) = self.partials.filter(|_| one.rule.needs_whole_tensors()) {
            self.measure(wgpu, one, beside, partials)?;
        }
        let grid = |elements: usize| groups(elements.div_ceil(GROUP));
        let shader = one.rule.kernel().into();
        self.each_part(wgpu, (shader, grid), one, beside, &[self.counts]).map(drop)
    }

    /// Dispatches a shader over a parameter, its gradient, its master and its moments, in parts where a binding does not hold it. `behind`
    /// are the buffers of the last bindings. Returns the number of chunks in all parts.
    pub(super) fn each_part(
        &self,
        wgpu: &Wgpu,
        (shader, grid): GridOf,
        StepParam { state: slot, param, grad, .. }: &StepParam<'_, Wgpu>,
        beside: Option<&Tensor>,
        behind: &[&Buffer],
    ) -> Result<usize, Error> {
        let (store, seed) = slot.master.code(param.dtype());
        let [seed_low, seed_high] = halves(seed);
        let gradient_dtype = supported("step with gradients of", grad)?;
        let dtype = supported("train parameters of", param)?;
        // Beside those of the constants, the gradient, the parameter and its master.
        let moments = shader.bindings.len().saturating_sub(4 + behind.len());
        let mut chunks = 0;
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
                chunk: count(chunks),
            };
            chunks += part.len().div_ceil(CHUNK);
            let parameter = Bound::elements(param, part.clone()).0;
            let mut bound = vec![Bound::whole(self.moves), gradient, parameter];
            let kept = slot.moments.iter().map(Option::as_ref).take(moments);
            for (kept, nothing) in [beside].into_iter().chain(kept).zip(self.nothing) {
                bound.push(match kept {
                    Some(kept) => Bound::elements(kept, part.clone()).0,
                    None => Bound::whole(nothing),
                });
            }
            bound.extend(behind.iter().copied().map(Bound::whole));
            wgpu.dispatch(shader, &params, bound, grid(part.len()))?;
        }
        Ok(chunks)
    }
}
