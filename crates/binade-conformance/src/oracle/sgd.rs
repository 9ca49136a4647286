//! One element's step of stochastic gradient descent, as torch computes it in `f32` on a CPU.
//!
//! Every scalar is worked out in `f64` and rounded once to `f32` where it meets an element.

use super::train::{Element, narrow};
use binade_master_weights::Sgd;

/// Moves `element` by the unscaled gradient `g`.
pub fn step(rule: &Sgd, element: &mut Element, g: f32) {
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
