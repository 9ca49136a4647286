//! The dispatches of a step: what each parameter moves by, for all of them, then one fused step for each.

use super::{
    Masters,
    scaled::{self, During},
};
use crate::{
    Error, Found, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, AskedRow, count, halves},
    },
    gradients::{flag, flags, owed, supported},
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Named;
use binade_gpu::{MasterState, ParamState, unsupported_rule};
use binade_master_weights::{Matched, UpdateRule};

pub(super) const PREPARE: Shader = Shader {
    name: "prepare",
    file: "prepare",
    params: size_of::<structs::Prepare>(),
    bindings: &[
        (1, Read),
        (2, Read),
        (3, Read),
        (4, Read),
        (5, Read),
        (6, Read),
        (7, Write),
        (8, Write),
    ],
};

pub(super) const SGD: Shader = Shader {
    name: "sgd",
    file: "sgd",
    params: size_of::<structs::Step>(),
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Write), (5, Write), (8, Write)],
};

pub(super) const ADAM: Shader = Shader {
    name: "adam",
    file: "adam",
    params: size_of::<structs::Step>(),
    bindings: &[
        (1, Read),
        (2, Read),
        (3, Write),
        (4, Write),
        (5, Write),
        (6, Write),
        (7, Write),
        (8, Write),
    ],
};

/// A parameter that a step moves.
struct Moving<'a> {
    slot: &'a ParamState<Wgpu>,
    param: &'a Tensor,
    grad: &'a Tensor,
    shader: &'static Shader,
}

impl Masters {
    /// Puts a step in the batch: `matched` are the gradients of `params`, which nobody else holds.
    pub(super) fn step(
        &mut self,
        wgpu: &Wgpu,
        params: &[Named<Tensor>],
        matched: &[Option<Matched>],
        (grads, found): (&Gradients, &Found),
    ) -> Result<(), Error> {
        let Self { kept, slots, rules, asked: table, applied, moves, nothing, .. } = self;
        let (mut asked, mut moving) = (Vec::new(), Vec::new());
        for (param, matched) in params.iter().zip(matched) {
            let Some(Matched { id, grad: place }) = *matched else { continue };
            let grad = grads.entries.get(place).and_then(|entry| entry.value.as_ref());
            let (Some(grad), Some(slot), Some(rule)) = (grad, slots.get(id), kept.rule(id)) else {
                continue;
            };
            let (flag, number) = (flag(grads, place), rules.number(rule));
            asked.push(AskedRow { flag, slot: slot.number, rule: number, pad: 0 });
            moving.push(Moving { slot, param: &param.value, grad, shader: shader(rule)? });
        }
        if asked.is_empty() {
            return Ok(());
        }
        let [rules, corrections] = rules.tables(wgpu, self.attempts)?;
        let told = [table.of(wgpu, &asked)?, rules, corrections];
        let seen = [Bound::whole(found.buffer()), owed(grads, wgpu)?, flags(grads, wgpu)?];
        let left = [&*applied, &*moves].map(Bound::whole);
        let bound = told.into_iter().chain(seen).chain(left).collect();
        let params = structs::Prepare { count: count(asked.len()) };
        wgpu.dispatch(&PREPARE, &params, bound, groups(asked.len()))?;
        let counts = u32::from(self.counts_lost);
        let among = Among { applied, moves, nothing, counts };
        moving.iter().try_for_each(|one| one.dispatch(wgpu, &among))
    }
}

/// What all parameters of a step share.
struct Among<'a> {
    applied: &'a Buffer,
    moves: &'a Buffer,
    nothing: &'a [Buffer; 4],
    counts: u32,
}

impl Moving<'_> {
    /// The step, of a master that is to be opened between opening and packing it.
    fn dispatch(&self, wgpu: &Wgpu, among: &Among<'_>) -> Result<(), Error> {
        let MasterState::Scaled(master) = &self.slot.master else {
            return self.fused(wgpu, among, self.slot.master.tensor());
        };
        let during = During::step(among.moves, among.applied, self.slot.number, among.counts);
        let wide = scaled::open(master, wgpu, during)?;
        self.fused(wgpu, among, Some(&wide))?;
        scaled::pack(master, wgpu, &wide, during)
    }

    /// The fused step, in parts where a binding does not hold it.
    fn fused(&self, wgpu: &Wgpu, among: &Among<'_>, beside: Option<&Tensor>) -> Result<(), Error> {
        let Self { slot, param, grad, shader } = *self;
        let (store, seed) = slot.master.code(param.dtype());
        let [seed_low, seed_high] = halves(seed);
        let gradient_dtype = supported("step with gradients of", grad)?;
        let dtype = supported("train parameters of", param)?;
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
                counts: among.counts,
            };
            let parameter = Bound::elements(param, part.clone()).0;
            let mut bound = vec![Bound::whole(among.moves), gradient, parameter];
            let moments = if is_adam(shader) { 3 } else { 1 };
            let kept = slot.moments.iter().map(Option::as_ref).take(moments);
            for (kept, nothing) in [beside].into_iter().chain(kept).zip(among.nothing) {
                bound.push(match kept {
                    Some(kept) => Bound::elements(kept, part.clone()).0,
                    None => Bound::whole(nothing),
                });
            }
            bound.push(Bound::whole(among.applied));
            wgpu.dispatch(shader, &params, bound, groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(())
    }
}

fn shader(rule: &UpdateRule) -> Result<&'static Shader, Error> {
    match rule {
        UpdateRule::Sgd(_) => Ok(&SGD),
        UpdateRule::Adam(_) => Ok(&ADAM),
        other => Err(unsupported_rule::<Wgpu>(other)),
    }
}

fn is_adam(shader: &Shader) -> bool {
    shader.name == ADAM.name
}
