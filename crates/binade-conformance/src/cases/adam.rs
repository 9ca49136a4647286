//! Adam, `AdamW` and `AMSGrad`, and divisors that would be almost 0 in sixteen bits.
//!
//! The oracle is one element's step of Adam (Kingma and Ba, arXiv 1412.6980) or `AdamW` (Loshchilov and Hutter, arXiv 1711.05101), as torch computes
//! it in `f32` on a CPU. Every scalar is computed in `f64`, and rounded once to `f32` before it is combined with an element.

use super::prelude::*;
use super::steps::{self, variant};
use super::stores::SUBTRACTING;
use super::training::{Element, Move, Run, calm, narrow};
use binade_master_weights::{Adam, UpdateRule};

const PLAIN: Adam = Adam {
    lr: 0.01,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weight_decay: 0.0,
    decoupled: false,
    amsgrad: false,
    sparse: false,
};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    let rules = [
        ("adam", PLAIN),
        ("adam_with_low_betas", Adam { betas: [0.3, 0.6], ..PLAIN }),
        ("adam_with_weight_decay", Adam { weight_decay: 0.01, ..PLAIN }),
        ("amsgrad", Adam { amsgrad: true, ..PLAIN }),
        ("adamw", Adam { weight_decay: 0.05, decoupled: true, ..PLAIN }),
    ];
    steps::add_cases(cases, &rules.map(|(name, rule)| (name, UpdateRule::Adam(rule))));
    for param in FLOATS {
        for grad in FLOATS {
            small(cases, [param, grad]);
        }
        ages(cases, param);
        if cases.arithmetic().rounded_div_sqrt {
            steps::halves(cases, param, UpdateRule::Adam(SUBTRACTING));
        }
    }
}

/// Adds cases of gradients whose squares, or an epsilon of 1e-8, would be zero in `f16`.
fn small<S: Backend>(cases: &mut Cases<S>, dtypes: [DType; 2]) {
    let sentence = "a_gradient_of_zero_moves_nothing_and_makes_no_nan";
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let param = Stored::vector(dtypes[0], [1.0, -0.5, 3.0]);
        let zero = Stored::vector(dtypes[1], [0.0; 3]);
        let step = (UpdateRule::Adam(PLAIN), zero);
        Run::single(param, vec![step.clone(), step]).exact(s, check)
    });
    let sentence = "a_gradient_of_1e_4_moves_as_far_as_any_other";
    cases.add(variant(dtypes), sentence, move |s: &S, check| {
        let param = Stored::vector(dtypes[0], [1.0, -0.5, 3.0]);
        let tiny = Stored::vector(dtypes[1], [1e-4, -1e-4, 1e-4].map(|x| x * 1024.0));
        Run::single(param, vec![(UpdateRule::Adam(PLAIN), tiny)]).near(s, check)
    });
}

/// Adds a case of two parameters, one without a gradient at first: its bias corrections count from its own first step.
fn ages<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_parameter_without_a_gradient_does_not_age";
    cases.add(variant([dtype; 2]), sentence, move |s: &S, check| {
        let [param, first, second] = calm([dtype; 2], 9, 29);
        let turn = |a: Option<&Stored>, b: &Stored| {
            let grads = vec![("a", a.cloned()), ("b", Some(b.clone()))];
            Move::new(UpdateRule::Adam(PLAIN), grads, 10)
        };
        let turns = vec![turn(None, &first), turn(None, &second), turn(Some(&first), &second)];
        Run::new(vec![("a", param.clone()), ("b", param)], turns).near(s, check)
    });
}

// The oracle.

/// Steps `element` by the unscaled gradient `g`.
pub(super) fn step(rule: &Adam, element: &mut Element, g: f32) {
    element.steps += 1;
    let [b1, b2] = rule.betas;
    let correction = |beta: f64| 1.0 - beta.powi(element.steps);
    let (bc1, bc2) = (correction(b1), correction(b2));
    let mut p = element.master;
    let mut g = g;

    if rule.decoupled {
        p *= narrow(1.0 - rule.lr * rule.weight_decay);
    } else if rule.weight_decay != 0.0 {
        g = p.mul_add(narrow(rule.weight_decay), g);
    }

    let weight = narrow(1.0 - b1);
    let difference = g - element.first;
    element.first = if weight < 0.5 {
        weight.mul_add(difference, element.first)
    } else {
        (-difference).mul_add(1.0 - weight, g)
    };
    element.second = (narrow(1.0 - b2) * g).mul_add(g, element.second * narrow(b2));

    let second = if rule.amsgrad { element.largest.max(element.second) } else { element.second };
    element.largest = second;
    let (root, bias) =
        if rule.sparse { (1.0, bc1 / f64::from(narrow(bc2.sqrt()))) } else { (bc2.sqrt(), bc1) };
    let denominator = second.sqrt() / narrow(root) + narrow(rule.eps);
    element.master = p + narrow(-rule.lr / bias) * element.first / denominator;
}
