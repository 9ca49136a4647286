//! Two ulps are what a step without fused roundings needs, and who claims fused roundings is not given them.

use crate::faulty::{Fault, Faulty};
use crate::toy::{Plain, Slot, Toy};
use crate::toy_train::{self, Training};
use binade_conformance::{Arithmetic, Result, Runner, Subject, TrainStep};
use binade_core::Named;
use binade_master_weights::{AdamConstants, SgdConstants, StepConstants, UpdateRule};

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

    fn train(
        &self,
        params: Vec<Named<Plain>>,
        turns: Vec<TrainStep<Plain>>,
    ) -> Result<Vec<Named<Plain>>> {
        toy_train::train(params, turns, &mut Rounded)
    }
}

/// Every product rounded.
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
            step(&StepConstants::at(rule, slot.applied), slot, grad);
        }
        Ok(())
    }
}

fn step(constants: &StepConstants, slot: &mut Slot, grads: &[f32]) {
    for moment in &mut slot.moments {
        moment.resize(grads.len(), 0.0);
    }
    let [first, second, largest] = &mut slot.moments;
    for (index, g) in grads.iter().enumerate() {
        let p = &mut slot.master[index];
        match constants {
            StepConstants::Sgd(c) => sgd(c, p, *g, &mut first[index]),
            StepConstants::Adam(c) => {
                adam(c, p, *g, [&mut first[index], &mut second[index], &mut largest[index]]);
            }
        }
    }
    slot.applied += 1;
}

fn sgd(c: &SgdConstants, p: &mut f32, mut g: f32, buffer: &mut f32) {
    g += c.weight_decay * *p;
    if c.momentum != 0.0 {
        *buffer = if c.first { g } else { c.momentum * *buffer + c.undamped * g };
        g = if c.nesterov { g + c.momentum * *buffer } else { *buffer };
    }
    *p += c.negative_lr * g;
}

fn adam(c: &AdamConstants, p: &mut f32, mut g: f32, [mean, square, largest]: [&mut f32; 3]) {
    *p *= c.shrink;
    g += c.weight_decay * *p;
    *mean += c.mean_weight * (g - *mean);
    *square = *square * c.beta2 + c.square_weight * (g * g);
    *largest = if c.amsgrad { largest.max(*square) } else { *square };
    let root = largest.sqrt() * (1.0 / c.root_correction);
    *p += c.negative_step * *mean * (1.0 / (root + c.eps));
}

#[test]
fn a_subject_that_admits_to_be_unfused_passes_by_ulps() {
    for operation in ["sgd/", "adam/"] {
        let report = Runner::new()
            .only(operation)
            .require("unfused")
            .run(&Faulty(&Unfused { admits_it: true }));
        report.assert_success();
        assert!(report.to_string().contains("ulps(2)"), "{report}");
    }
}

#[test]
fn a_subject_that_claims_fused_roundings_is_held_to_bits() {
    for case in ["sgd/f32<-f32/second_step_with_all", "adam/f32<-f32/second_step_adamw"] {
        let report = Runner::new().only(case).run(&Faulty(&Unfused { admits_it: false }));
        assert_eq!(report.failed().len(), 1, "{report}");
    }
}
