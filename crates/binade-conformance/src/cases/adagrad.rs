//! Adagrad: sums of squares with any initial value, and a learning rate that falls with the number of steps.
//!
//! The oracle is one element's step of Adagrad (Duchi, Hazan and Singer, JMLR 12, 2011), as torch computes it in `f32` on a CPU. Every scalar is
//! computed in `f64`, and rounded once to `f32` before it is combined with an element.

use super::prelude::*;
use super::steps::{self, variant};
use super::training::{Element, Move, Run, at_rest, calm, narrow};
use binade_master_weights::{Adagrad, UpdateRule};

const PLAIN: Adagrad = Adagrad {
    lr: 0.01,
    lr_decay: 0.0,
    weight_decay: 0.0,
    initial_accumulator_value: 0.0,
    eps: 1e-10,
};

/// Rule whose learning rate halves after the first step.
const EXACT: Adagrad = Adagrad { lr: 0.25, lr_decay: 1.0, eps: 0.0, ..PLAIN };

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    let rules = [
        ("adagrad", PLAIN),
        ("adagrad_from_a_sum", Adagrad { initial_accumulator_value: 0.3, ..PLAIN }),
        ("adagrad_with_lr_decay", Adagrad { lr_decay: 0.7, ..PLAIN }),
        ("adagrad_with_weight_decay", Adagrad { weight_decay: 0.05, lr_decay: 0.1, ..PLAIN }),
    ];
    steps::add_cases(cases, &rules.map(|(name, rule)| (name, UpdateRule::Adagrad(rule))));
    for param in FLOATS {
        decays(cases, param);
        if cases.arithmetic().rounded_div_sqrt {
            exact(cases, param);
        }
    }
}

/// Adds a case of two parameters, one without a gradient at first: its rate falls from its own first step on.
fn decays<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "the_rate_of_a_parameter_falls_with_its_own_steps";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let rule = UpdateRule::Adagrad(Adagrad { lr_decay: 0.5, ..PLAIN });
        let [param, first, second] = calm([dtype; 2], 9, 31);
        let turn = |a: Option<&Stored>, b: &Stored| {
            let grads = vec![("a", a.cloned()), ("b", Some(b.clone()))];
            Move::new(rule, grads, 10)
        };
        let turns = vec![turn(None, &first), turn(None, &second), turn(Some(&first), &second)];
        Run::new(vec![("a", param.clone()), ("b", param)], turns).near(s, check)
    });
}

/// Adds a case of sums that are squares, so that no root is rounded.
fn exact<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, rule: Adagrad, grads: &[[f64; 3]]| {
        let rule = UpdateRule::Adagrad(rule);
        let param = Stored::vector(dtype, [1.0, -0.5, 3.0]);
        let moves = grads.iter().map(|grad| (rule, Stored::vector(DType::F32, *grad)));
        let run = Run::single(param, moves.collect());
        cases.add(variant([dtype, DType::F32]), sentence, move |s: &S, check| run.exact(s, check));
    };
    let of = |x: f64| [1024.0 * x, -1024.0 * x, 2048.0 * x];
    add("the_first_step_is_the_rate_and_the_second_less_by_the_decay", EXACT, &[of(3.0), of(4.0)]);
    let begun = Adagrad { initial_accumulator_value: 9.0, ..EXACT };
    add("sums_begin_at_their_initial_value", begun, &[[4096.0, -4096.0, 4096.0]]);
    let sentence = "a_sum_that_a_step_at_rest_filled_is_divided_by";
    let rest = at_rest(UpdateRule::Adagrad(EXACT));
    let param = Stored::vector(dtype, [1.0, -0.5, 3.0]);
    let grad = |x: f64| Stored::vector(DType::F32, of(x));
    let moves = vec![(rest, grad(3.0)), (UpdateRule::Adagrad(EXACT), grad(4.0))];
    let run = Run::single(param, moves);
    cases.add(variant([dtype, DType::F32]), sentence, move |s: &S, check| run.exact(s, check));
}

// The oracle.

/// Steps `element` by the unscaled gradient `g`.
pub(super) fn step(rule: &Adagrad, element: &mut Element, g: f32) {
    if element.steps == 0 {
        element.first = narrow(rule.initial_accumulator_value);
    }
    let rate = rule.lr / (1.0 + f64::from(element.steps) * rule.lr_decay);
    let g = if rule.weight_decay == 0.0 {
        g
    } else {
        element.master.mul_add(narrow(rule.weight_decay), g)
    };
    element.first = g.mul_add(g, element.first);
    let divisor = element.first.sqrt() + narrow(rule.eps);
    element.master += narrow(-rate) * g / divisor;
    element.steps += 1;
}
