//! A scale for each loss: each moves by the overflows of its own gradients.
//!
//! The oracle goes by the documentation of `Scaler::update_each`, sentence by sentence, for two losses.

use super::prelude::*;
use super::scale_update::update;
use super::unscale::{Set, set, unscale, upload};
use crate::{LossPair, StepSharing};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, UpdateInputs};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    meetings(cases);
    sums(cases);
    apart(cases);
}

/// Grows at each good step, so that a good step shows.
fn rule() -> LossScale {
    let mut rule = LossScale::dynamic();
    (rule.growth_interval, rule.min_exponent) = (1, -20);
    rule
}

/// Scales that are told apart.
fn scales() -> [ScaleState; 2] {
    [12, 3].map(ScaleState::from_exponent)
}

/// Scales under which finite gradients reach the end of `f32`.
fn small_scales() -> [ScaleState; 2] {
    [0, -1].map(ScaleState::from_exponent)
}

fn good() -> Set {
    set(DType::F32, 1.0, "w: 1 -2")
}

fn bad() -> Set {
    set(DType::F32, 1.0, "w: nan 2")
}

fn window(bad: BadMicroBatch) -> StepSharing {
    StepSharing::Window { bad, max_norm: None }
}

/// Both scales after one iteration, whether its step was skipped, and that each outcome has all of it.
fn by<S: Backend>(
    s: &S,
    check: &mut Check,
    sets: &[Set; 2],
    meet: StepSharing,
    beyond: Beyond,
) -> Verdict {
    let scales = if beyond == Beyond::Nothing { scales() } else { small_scales() };
    let loss = put(s, &Stored::from_values(DType::F32, &[], [1.0]))?;
    let grads = [upload(s, &sets[0])?, upload(s, &sets[1])?];
    let got = s.update_each(LossPair { rule: rule(), scales, loss, grads, meet })?;
    let overflows = |loss: usize| unscale(&sets[loss], scales[loss]).1.is_raised();
    let own = [overflows(0), overflows(1)];
    let skips = !matches!(meet, StepSharing::Window { bad: BadMicroBatch::Drop, .. });
    let found = Found { own, skips, sum: beyond == Beyond::Sum };
    let wanted = update_each(&rule(), &scales, found);
    let inputs = (sets, meet);
    let left = own.contains(&true) && skips || own == [true; 2];
    let skipped = match meet {
        StepSharing::Apart => own.to_vec(),
        StepSharing::Window { .. } => vec![left || beyond != Beyond::Nothing],
    };
    for (got, wanted) in got.iter().zip(&wanted) {
        let report = got.report();
        check.equal(inputs, format!("{:?}", report.scale), format!("{wanted:?}"))?;
        let steps: Vec<bool> = report.steps.iter().map(|step| step.skipped).collect();
        check.equal(inputs, format!("{steps:?}"), format!("{skipped:?}"))?;
    }
    Ok(())
}

/// Source of an overflow where the gradients of both losses are finite.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Beyond {
    Nothing,
    Sum,
    Norm,
}

/// Every pair of a good and a bad set.
fn pairs() -> [[Set; 2]; 4] {
    [[good(), good()], [bad(), good()], [good(), bad()], [bad(), bad()]]
}

fn meetings<S: Backend>(cases: &mut Cases<S>) {
    for (sentence, bad) in [
        ("an_overflow_backs_off_its_own_losss_scale_alone", BadMicroBatch::SkipWindow),
        ("a_loss_that_is_left_out_backs_off_and_has_skipped_nothing", BadMicroBatch::Drop),
    ] {
        cases.add("window", sentence, move |s: &S, check| {
            let mut pairs = pairs().into_iter();
            pairs.try_for_each(|sets| by(s, check, &sets, window(bad), Beyond::Nothing))
        });
    }
}

/// Sums and norms that overflow though no gradient does.
fn sums<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "a_sum_that_overflows_backs_off_both";
    cases.add("window", sentence, |s: &S, check| {
        let both = [BadMicroBatch::SkipWindow, BadMicroBatch::Drop];
        both.into_iter().try_for_each(|bad| {
            let sets = ["w: 1 2e38", "w: 1 1e38"].map(|words| set(DType::F32, 1.0, words));
            by(s, check, &sets, window(bad), Beyond::Sum)
        })
    });
    let sentence = "a_norm_that_is_not_finite_skips_and_backs_off_none";
    cases.add("window", sentence, |s: &S, check| {
        let meet = StepSharing::Window { bad: BadMicroBatch::SkipWindow, max_norm: Some(1.0) };
        let sets = ["w: 3e38 3e38", "w: 0 0"].map(|words| set(DType::F32, 1.0, words));
        by(s, check, &sets, meet, Beyond::Norm)
    });
}

fn apart<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "of_steps_apart_each_is_its_own_losss";
    cases.add("apart", sentence, |s: &S, check| {
        pairs()
            .into_iter()
            .try_for_each(|sets| by(s, check, &sets, StepSharing::Apart, Beyond::Nothing))
    });
    cases.add("apart", "two_good_steps_grow_both", |s: &S, check| {
        by(s, check, &[good(), good()], StepSharing::Apart, Beyond::Nothing)
    });
}

// The oracle.

/// Overflows found where two losses meet.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// True for each loss whose gradients overflow.
    own: [bool; 2],
    /// True where an overflow of one skips the step, rather than leaving its gradients out.
    skips: bool,
    /// True where the sum overflows and no gradient in it does.
    sum: bool,
}

/// Returns the scale of each loss after the iteration.
fn update_each(rule: &LossScale, scales: &[ScaleState; 2], found: Found) -> [ScaleState; 2] {
    [0, 1].map(|loss| {
        // "An overflow in one loss's gradients skips the step, and backs off that loss's scale alone: the others count a
        // good step. A sum that overflows is everyone's."
        let overflow = found.own[loss] || found.sum;
        // "Where a window leaves bad micro-batches out, a loss counts its overflow, and not what became of the window."
        let skipped = (found.own[loss] && found.skips) || found.sum;
        update(rule, &scales[loss], UpdateInputs { overflow, skipped, magnitude: 0.0 })
    })
}
