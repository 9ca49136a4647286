//! Stochastic gradient descent: torch's momentum, dampening, Nesterov and weight decay, and steps that need masters.
//!
//! The oracle is one element's step as torch computes it in `f32` on a CPU. Every scalar is computed in `f64`, and rounded once to `f32` before it is
//! combined with an element.

use super::prelude::*;
use super::steps::{self, variant};
use super::training::{Element, Move, Run, narrow};
use binade_master_weights::{Sgd, UpdateRule};

const PLAIN: Sgd =
    Sgd { lr: 0.1, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    let momentum = Sgd { momentum: 0.9, ..PLAIN };
    let rules = [
        ("plain", PLAIN),
        ("with_weight_decay", Sgd { weight_decay: 0.01, ..PLAIN }),
        ("with_momentum", momentum),
        ("with_dampening", Sgd { dampening: 0.3, ..momentum }),
        ("with_nesterov", Sgd { nesterov: true, ..momentum }),
        ("with_all", Sgd { dampening: 0.1, weight_decay: 0.05, ..momentum }),
    ];
    steps::add_cases(cases, &rules.map(|(name, rule)| (name, UpdateRule::Sgd(rule))));
    for param in FLOATS {
        for grad in FLOATS {
            scales(cases, [param, grad]);
            missing(cases, [param, grad]);
        }
        masters(cases, param);
        steps::halves(cases, param, UpdateRule::sgd(1.0));
    }
}

/// Halves, quarters and whole numbers, which no arithmetic rounds.
const HALF: UpdateRule = UpdateRule::sgd(0.5);

fn scales<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2]) {
    let sentence = "each_gradient_is_divided_by_the_scale_it_was_made_with";
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let params = vec![("w", Stored::vector(dtypes[0], [8.0, -4.0, 1.0]))];
        let scaled = |exponent: i32| {
            let grad = [2.0, -1.0, 0.5].map(|x| x * 2.0_f64.powi(exponent));
            Move::new(HALF, vec![("w", Some(Stored::vector(dtypes[1], grad)))], exponent)
        };
        let moves = [10, 3, -2, 12].map(scaled).to_vec();
        Run::new(params, moves).exact(s, check)
    });
}

fn missing<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2]) {
    let sentence = "a_parameter_without_a_gradient_stays_and_the_others_move";
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let param = |x: f64| Stored::vector(dtypes[0], [x, -x]);
        let params = vec![("a", param(1.0)), ("b", param(2.0)), ("c", param(4.0))];
        let grad = || Some(Stored::vector(dtypes[1], [1.0, 1.0]));
        let grads = vec![("a", grad()), ("b", None), ("c", grad())];
        Run::new(params, vec![Move::new(HALF, grads, 0)]).exact(s, check)
    });
}

/// Gradients of one, which no arithmetic rounds when multiplied by the learning rate.
fn masters<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_hundred_steps_of_1e_4_take_one_to_0_99";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let one = Stored::vector(dtype, [1.0, -1.0]);
        let step = (UpdateRule::sgd(1e-4), Stored::vector(dtype, [1024.0, -1024.0]));
        Run::single(one, vec![step; 100]).exact(s, check)
    });
    let sentence = "a_parameter_is_its_master_rounded_once_to_infinity_too";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let param = Stored::vector(dtype, [65504.0, -65504.0, 1.0]);
        let grad = Stored::vector(dtype, [-32768.0, 32768.0, 1024.0]);
        Run::single(param, vec![(UpdateRule::sgd(1.0), grad)]).exact(s, check)
    });
}

// The oracle.

/// Steps `element` by the unscaled gradient `g`.
pub(super) fn step(rule: &Sgd, element: &mut Element, g: f32) {
    let mu = narrow(rule.momentum);
    let p = element.master;

    let mut g = if rule.weight_decay == 0.0 { g } else { p.mul_add(narrow(rule.weight_decay), g) };
    if rule.momentum != 0.0 {
        let buffer = if element.steps == 0 {
            g
        } else {
            g.mul_add(narrow(1.0 - rule.dampening), element.first * mu)
        };
        element.first = buffer;
        g = if rule.nesterov { buffer.mul_add(mu, g) } else { buffer };
    }
    element.master = g.mul_add(narrow(-rule.lr), p);
    element.steps += 1;
}
