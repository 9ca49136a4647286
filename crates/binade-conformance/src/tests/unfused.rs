//! A step without fused multiply-add needs two ulps, and a subject that declares fused multiply-add does not get them.

use super::faulty::{Fault, Faulty};
use super::toy::{Params, Slot, Steps, Toy};
use super::toy_train::{self, Training};
use crate::{Arithmetic, Backend as _, Result, Runner};
use binade_master_weights::{Adam, Correction, Sgd, UpdateRule};

/// Trains with every product rounded, and divides by multiplying with a reciprocal, as shaders do.
struct Unfused {
    admits_it: bool,
}

impl Fault for Unfused {
    fn name(&self) -> &'static str {
        "unfused"
    }

    fn arithmetic(&self) -> Arithmetic {
        let exact = !self.admits_it;
        Arithmetic { fma: exact, rounded_div_sqrt: exact, ..Toy.arithmetic() }
    }

    fn train(&self, params: Params, turns: Steps) -> Result<Params> {
        toy_train::train(params, turns, &mut Rounded)
    }
}

/// Rounds every product.
struct Rounded;

impl Training for Rounded {
    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        if !skipped {
            step(rule, slot, grad);
        }
        Ok(())
    }
}

fn step(rule: &UpdateRule, slot: &mut Slot, grads: &[f32]) {
    for moment in &mut slot.moments {
        moment.resize(grads.len(), 0.0);
    }
    let [first, second, largest] = &mut slot.moments;
    for (index, g) in grads.iter().enumerate() {
        let p = &mut slot.master[index];
        match rule {
            UpdateRule::Sgd(rule) => sgd(rule, slot.applied == 0, p, *g, &mut first[index]),
            UpdateRule::Adam(rule) => {
                let moments = [&mut first[index], &mut second[index], &mut largest[index]];
                adam(rule, slot.applied, p, *g, moments);
            }
            other => panic!("{other:?}"),
        }
    }
    slot.applied += 1;
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn sgd(rule: &Sgd, is_first: bool, p: &mut f32, mut g: f32, buffer: &mut f32) {
    let momentum = narrow(rule.momentum);
    g += narrow(rule.weight_decay) * *p;
    if rule.momentum != 0.0 {
        let undamped = narrow(1.0 - rule.dampening);
        *buffer = if is_first { g } else { momentum * *buffer + undamped * g };
        g = if rule.nesterov { g + momentum * *buffer } else { *buffer };
    }
    *p -= narrow(rule.lr) * g;
}

fn adam(rule: &Adam, applied: u64, p: &mut f32, mut g: f32, moments: [&mut f32; 3]) {
    let [mean, square, largest] = moments;
    let corrected = Correction::Bias(rule.betas).at(applied);
    if rule.decoupled {
        *p *= narrow(1.0 - rule.lr * rule.weight_decay);
    } else {
        g += narrow(rule.weight_decay) * *p;
    }
    *mean += narrow(1.0 - rule.betas[0]) * (g - *mean);
    *square = *square * narrow(rule.betas[1]) + narrow(1.0 - rule.betas[1]) * (g * g);
    *largest = if rule.amsgrad { largest.max(*square) } else { *square };
    let divisor = largest.sqrt() * (1.0 / corrected.first) + narrow(rule.eps);
    *p -= narrow(rule.lr / corrected.divisor) * *mean * (1.0 / divisor);
}

#[test]
fn a_subject_that_admits_to_be_unfused_passes_by_ulps() {
    for operation in ["sgd/", "adam/"] {
        let report = Runner::new()
            .only(operation)
            .require("unfused")
            .run_on(&Faulty(&Unfused { admits_it: true }));
        report.assert_success();
        assert!(report.to_string().contains("ulps(2)"), "{report}");
    }
}

#[test]
fn a_subject_that_claims_fused_roundings_is_held_to_bits() {
    for case in ["sgd/f32<-f32/second_step_with_all", "adam/f32<-f32/second_step_adamw"] {
        let report = Runner::new().only(case).run_on(&Faulty(&Unfused { admits_it: false }));
        assert_eq!(report.failed().len(), 1, "{report}");
    }
}
