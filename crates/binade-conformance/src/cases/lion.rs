//! Lion: steps of the learning rate in the direction of the sign of a mean of gradients.
//!
//! The oracle is one element's step of Lion (Chen et al., arXiv 2302.06675, algorithm 2), with the roundings of torch's operations on a CPU, except
//! those of the interpolation, of which only the sign is used. Every scalar is computed in `f64`, and rounded once to `f32` before it is combined
//! with an element.

use super::prelude::*;
use super::steps::{self, variant};
use super::training::{Element, Run, narrow};
use binade_master_weights::{Lion, UpdateRule};

const PLAIN: Lion = Lion { lr: 0.01, betas: [0.9, 0.99], weight_decay: 0.0 };

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    let rules = [
        ("lion", PLAIN),
        ("lion_with_low_betas", Lion { betas: [0.3, 0.6], ..PLAIN }),
        ("lion_with_weight_decay", Lion { weight_decay: 0.05, ..PLAIN }),
    ];
    steps::add_cases(cases, &rules.map(|(name, rule)| (name, UpdateRule::Lion(rule))));
    for param in FLOATS {
        for grad in FLOATS {
            signs(cases, [param, grad]);
        }
        follows(cases, param);
    }
}

/// Adds a case of two hundred steps with the oracle's bits. They stay near the formula in `f64`: masters are rounded twice in each step.
fn follows<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let rule = Lion { weight_decay: 0.05, ..PLAIN };
    let has_bits = cases.agreement() == Agreement::Bits;
    let sentence = "two_hundred_steps_follow_the_formula";
    cases.add(variant([dtype, DType::F32]), sentence, move |s: &S, check| {
        let mut draw = Draw::new(200);
        let mut vector = |dtype| {
            Stored::vector(dtype, (0..67).map(|_| draw.spread(-8.0, 8.0)).collect::<Vec<_>>())
        };
        let param = vector(dtype);
        let moves = (0..200).map(|_| (UpdateRule::Lion(rule), vector(DType::F32))).collect();
        let run = Run::single(param.clone(), moves);
        let wanted: Vec<Expected> = param
            .values()
            .enumerate()
            .map(|(place, param)| {
                let grads = run.moves.iter().filter_map(|turn| turn.grads[0].1.as_ref());
                let grads = grads.filter_map(|grad| grad.values().nth(place)).map(|g| g / 1024.0);
                let value = formula(&rule, param, grads);
                Expected::near(value, 400.0 * value.abs().max(1.0))
            })
            .collect();
        if has_bits {
            run.near(s, check)?;
        }
        let bound = Agreement::Bound { c: 1.0 };
        run.compare(s, |_, inputs, got| check.within(bound, inputs, got, &wanted))
    });
}

/// Steps of a quarter and momenta of powers of two, which no arithmetic rounds.
fn signs<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2]) {
    let rule = UpdateRule::Lion(Lion { lr: 0.25, betas: [0.5; 2], ..PLAIN });
    let mut add = |sentence: &str, grads: &[[f64; 3]]| {
        let param = Stored::vector(dtypes[0], [1.0, -0.5, 3.0]);
        let moves = grads.iter().map(|grad| (rule, Stored::vector(dtypes[1], *grad)));
        let run = Run::single(param, moves.collect());
        cases.add(variant(dtypes), sentence, move |s: &S, check| run.exact(s, check));
    };
    add("a_gradient_of_any_size_moves_by_the_rate", &[[0.125, -1024.0, 32768.0]]);
    add("a_gradient_of_zero_moves_nothing_as_yet", &[[0.0, -0.0, 1024.0]]);
    let opposed = [[1024.0, -1024.0, 2048.0], [-256.0, 256.0, -1024.0], [0.0; 3]];
    add("a_momentum_that_outweighs_the_gradient_decides", &opposed);
}

// The oracle.

/// Returns a parameter after steps by these gradients without rounding.
fn formula(rule: &Lion, mut param: f64, grads: impl Iterator<Item = f64>) -> f64 {
    let [b1, b2] = rule.betas;
    let mut momentum = 0.0;
    for g in grads {
        let mixed: f64 = b1 * momentum + (1.0 - b1) * g;
        let direction = if mixed == 0.0 { 0.0 } else { mixed.signum() };
        param = param * (1.0 - rule.lr * rule.weight_decay) - rule.lr * direction;
        momentum = b2 * momentum + (1.0 - b2) * g;
    }
    param
}

/// Steps `element` by the unscaled gradient `g`.
pub(super) fn step(rule: &Lion, element: &mut Element, g: f32) {
    let [b1, b2] = rule.betas;
    let mixed = element.first * narrow(b1) + g * narrow(1.0 - b1);
    let direction = if mixed == 0.0 { 0.0 } else { mixed.signum() };
    let decayed = element.master * narrow(1.0 - rule.lr * rule.weight_decay);
    element.master = decayed - narrow(rule.lr) * direction;
    element.first = g.mul_add(narrow(1.0 - b2), element.first * narrow(b2));
    element.steps += 1;
}
