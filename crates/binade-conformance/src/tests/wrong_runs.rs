//! Subjects with right operations and wrong runs: state kept from one call changes a later one.

use super::faulty::{Fault, Faulty, TOY};
use super::toy::{Elements, Grads, Params, Plain, Steps, Toy};
use crate::{Backend as _, Result, Runner};
use binade_core::{DType, Named};
use std::cell::RefCell;

/// Caches casts of parameters, and still returns them after the parameters have been stepped.
#[derive(Default)]
struct KeepsCasts {
    /// Values of parameters, and their cached casts.
    kept: RefCell<Vec<(Plain, Plain)>>,
}

impl KeepsCasts {
    fn of(&self, tensor: &Plain, to: DType) -> Option<Plain> {
        let kept = self.kept.borrow();
        let same = |(of, cast): &&(Plain, Plain)| {
            of.dtype() == tensor.dtype() && of.to_bits() == tensor.to_bits() && cast.dtype() == to
        };
        kept.iter().rev().find(same).map(|(_, cast)| cast.clone())
    }
}

impl Fault for KeepsCasts {
    fn cast(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        if let Some(kept) = self.of(tensor, to) {
            return Ok(kept);
        }
        let cast = Toy.cast(tensor, to)?;
        // Only a few are kept, as in a cache for parameters.
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= 16 {
            kept.remove(0);
        }
        kept.push((tensor.clone(), cast.clone()));
        Ok(cast)
    }

    fn train(&self, params: Params, turns: Steps) -> Result<Params> {
        let after = Toy.train(params.clone(), turns)?;
        for (before, after) in params.iter().zip(&after) {
            for (of, _) in self.kept.borrow_mut().iter_mut() {
                if of.dtype() == before.value.dtype() && of.to_bits() == before.value.to_bits() {
                    of.clone_from(&after.value);
                }
            }
        }
        Ok(after)
    }
}

/// Parameters, and the gradients that brought them there.
type Last = (Params, Grads);

/// Adds each gradient to the previous one of the same parameter, as if nobody had called `zero_grad`.
#[derive(Default)]
struct KeepsGradients {
    /// The parameters as the last step left them, and the gradients that it stepped by.
    last: RefCell<Option<Last>>,
}

impl KeepsGradients {
    /// Returns the gradients; if the parameters are as the last step left them, the gradients of that step are added.
    fn added(&self, params: &[Named<Plain>], mut grads: Grads) -> Grads {
        let last = self.last.borrow();
        let Some((after, before)) = last.as_ref() else { return grads };
        let same = |(a, b): (&Named<Plain>, &Named<Plain>)| a.value.to_bits() == b.value.to_bits();
        if params.len() != after.len() || !params.iter().zip(after).all(same) {
            return grads;
        }
        for (grad, old) in grads.iter_mut().zip(before) {
            if let (Some(grad), Some(old)) = (&mut grad.value, &old.value) {
                let sum = grad.read().into_iter().zip(old.read()).map(|(g, old)| g + old);
                *grad = Plain::write(&sum.collect::<Vec<f32>>(), grad.dtype(), grad.shape());
            }
        }
        grads
    }
}

impl Fault for KeepsGradients {
    fn train(&self, params: Params, mut turns: Steps) -> Result<Params> {
        for turn in turns.iter_mut().take(1) {
            turn.grads = self.added(&params, std::mem::take(&mut turn.grads));
        }
        let grads = turns.last().map(|turn| turn.grads.clone()).unwrap_or_default();
        let after = Toy.train(params.clone(), turns)?;
        let moved = params.iter().zip(&after).any(|(a, b)| a.value.to_bits() != b.value.to_bits());
        *self.last.borrow_mut() = moved.then(|| (after.clone(), grads));
        Ok(after)
    }
}

/// Runs every case that casts or steps, and requires that exactly the named cases fail. The faults are in these calls: in any other case the subject
/// is the toy.
#[track_caller]
fn only(wrong: &dyn Fault, cases: &[&str]) {
    let suites = ["Autocast", "MasterWeights", "SparseEmbedding", "Convergence"];
    let report = suites.into_iter().fold(Runner::new(), Runner::suite).run_on(&Faulty(wrong));
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert_eq!(failed, cases);
    assert!(report.passed() > 1000, "{report}");
}

#[test]
fn casts_that_outlive_a_step_are_caught_by_a_run_alone() {
    only(
        &KeepsCasts::default(),
        &[
            "convergence/bf16/two_hundred_steps_track_the_loss_of_f32",
            "convergence/f16/two_hundred_steps_track_the_loss_of_f32",
        ],
    );
}

#[test]
fn gradients_that_nobody_set_to_zero_are_caught_by_a_run_alone() {
    only(
        &KeepsGradients::default(),
        &[
            "convergence/bf16/two_hundred_steps_track_the_loss_of_f32",
            "convergence/bf16/gradients_of_the_host_train_as_in_f32",
            "convergence/f16/two_hundred_steps_track_the_loss_of_f32",
            "convergence/f16/gradients_of_the_host_train_as_in_f32",
        ],
    );
}

#[test]
fn a_right_subject_stays_well_within_the_band() {
    let report = Runner::new().suite("Convergence").run_on(&TOY);
    report.assert_success();
    for record in &report.records {
        assert!(record.worst <= 0.5, "{}: {} of the band", record.name, record.worst);
    }
}
