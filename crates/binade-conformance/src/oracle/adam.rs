//! One element's step of Adam (Kingma and Ba, arXiv 1412.6980) or `AdamW` (Loshchilov and Hutter, arXiv 1711.05101), as
//! torch computes it in `f32` on a CPU.
//!
//! Every scalar is worked out in `f64` and rounded once to `f32` where it meets an element.

use super::train::{Element, narrow};
use binade_master_weights::Adam;

/// Moves `element` by the unscaled gradient `g`.
pub fn step(rule: &Adam, element: &mut Element, g: f32) {
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
    let denominator = second.sqrt() / narrow(bc2.sqrt()) + narrow(rule.eps);
    element.master = p + narrow(-rule.lr / bc1) * element.first / denominator;
}
