//! Subjects that go wrong, in one way each, over whole iterations: a right run of other inputs, or with another result.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Grads, Plain, Toy, Unscaled, plain};
use super::toy_sets::norm;
use super::wrong_sets::{in_f16, tame};
use crate::{
    Backend as _, DelayedResult, DelayedRun, LossPair, MicroBatch, Result, StepSharing,
    UnscaleResult,
};
use binade_core::{FoundInf, Named};
use binade_grad_scaler::{BadMicroBatch, Norm, ScaleState, Step, StepReport, UpdateInputs};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

const ONE: fn() -> ScaleState = || ScaleState::from_exponent(0);

impl Fault for Wrong {
    fn delayed(&self, mut window: DelayedRun<Plain>) -> Result<DelayedResult<Plain>> {
        let mut right = Toy.delayed(window.clone())?;
        let moved = window.passes.iter().map(|pass| pass.moved);
        let scales: Vec<ScaleState> = std::iter::once(window.start).chain(moved).collect();
        let summary = &mut right.summary;
        match self.0 {
            "scales_by_the_new_scale" => {
                for ((bits, pass), now) in right.losses.iter_mut().zip(&window.passes).zip(scales) {
                    *bits = Toy.scale(&pass.loss, now)?.to_bits();
                }
            }
            "unscales_the_sum_by_the_new_scale" => {
                window.start = ScaleState { diverged: false, ..scales[scales.len() - 1] };
                right.grads = Toy.delayed(window)?.grads;
            }
            "sums_passes_in_f16" if window.buffers.is_none() => {
                let micro = |grads| MicroBatch { grads, scale: ONE() };
                let micros = window.passes.iter().map(|pass| micro(pass.grads.clone()));
                window.buffers = Some(in_f16(micros.collect())?);
                return Toy.delayed(window);
            }
            "adds_bad_passes" => {
                window.passes.iter_mut().for_each(|pass| tame(&mut pass.grads));
                let added = Toy.delayed(window)?;
                if let Some((sum, added)) = summary.parts.last_mut().zip(added.summary.parts.last())
                {
                    sum.finding.clone_from(&added.finding);
                }
                right.grads = added.grads;
            }
            "looks_at_no_sum" => {
                let mut passes = summary.parts.iter().rev().skip(1);
                if !passes.any(|part| part.finding.is_raised()) {
                    (summary.verdict.overflow, summary.skipped) = (None, false);
                }
            }
            "looks_at_the_sum_alone" => {
                if let Some(sum) = summary.parts.last() {
                    summary.verdict = sum.finding.clone();
                    summary.skipped = sum.finding.is_raised();
                }
            }
            _ => {}
        }
        Ok(right)
    }

    fn update_each(&self, losses: LossPair<Plain>) -> Result<[Step; 2]> {
        let right = Toy.update_each(losses.clone())?;
        let LossPair { rule, scales, grads, meet, .. } = losses;
        let mut raised = [false; 2];
        for (raised, (grads, scale)) in raised.iter_mut().zip(grads.iter().zip(scales)) {
            *raised = Toy.unscale(grads.clone(), scale)?.found.is_raised();
        }
        let (mut sum, mut norm_is_bad, mut drops) = (false, false, false);
        if let StepSharing::Window { bad, max_norm } = meet {
            let micros = grads.into_iter().zip(scales);
            let micros = micros.map(|(grads, scale)| MicroBatch { grads, scale }).collect();
            let UnscaleResult { grads, found } = Toy.unscale(Toy.accumulate(micros)?, ONE())?;
            drops = bad == BadMicroBatch::Drop;
            sum = found.is_raised();
            norm_is_bad = max_norm.is_some() && is_beyond(&grads);
        }
        let mut loss = 0;
        Ok(right.map(|step| {
            let mut own = raised[loss];
            let mut everyones = sum;
            match self.0 {
                "moves_every_scale" => own = raised != [false; 2],
                "gives_the_sum_to_the_first" => everyones &= loss == 0,
                "takes_the_norm_for_an_overflow" => everyones |= norm_is_bad,
                _ => {}
            }
            let left_out = drops && self.0 != "counts_what_is_left_out_as_a_skip";
            let skipped = own && !left_out || everyones;
            let seen = UpdateInputs { overflow: own || everyones, skipped, magnitude: 1.0 };
            let scale = rule.next(scales[loss], seen);
            loss += 1;
            moved(&step, scale)
        }))
    }
}

/// The step with another scale after it.
fn moved(step: &Step, scale: ScaleState) -> Step {
    let skipped = step.report().steps.iter().any(|step| step.skipped);
    let report = StepReport { scale, ..step.report().clone() };
    match skipped {
        _ if scale.diverged => Step::Diverged(report),
        true => Step::Skipped(report),
        false => Step::Applied(report),
    }
}

fn is_beyond(grads: &Grads) -> bool {
    let mut found = FoundInf::default();
    found.record_norm(norm(grads, Norm::L2));
    found.is_raised()
}

caught! {
    fn scales_by_the_new_scale() by_only "delayed/f32/each_loss_is_scaled_by_the_scale_the_window_opened_with";
    fn unscales_the_sum_by_the_new_scale() by
        "delayed/f16/the_sum_is_divided_once_by_the_scale_the_window_opened_with"
        "delayed/bf16/buffers_are_divided_once_by_the_scale_the_window_opened_with";
    fn sums_passes_in_f16() by "delayed/f16/ones_add_up_beyond_2048" "delayed/f16/sums_beyond_f16_are_no_overflow";
    fn adds_bad_passes() by "delayed/f32/a_pass_that_overflows_adds_nothing";
    fn looks_at_no_sum() by
        "delayed/f32/a_sum_that_is_not_finite_skips_as_the_part_sum"
        "delayed/bf16/a_sum_that_is_infinite_only_once_divided_skips";
    fn looks_at_the_sum_alone() by "delayed/f16/a_pass_that_overflows_is_named_and_skips_the_window";
    fn moves_every_scale() by
        "update_each/window/an_overflow_backs_off_its_own_losss_scale_alone"
        "update_each/apart/of_steps_apart_each_is_its_own_losss";
    fn gives_the_sum_to_the_first() by_only "update_each/window/a_sum_that_overflows_backs_off_both";
    fn takes_the_norm_for_an_overflow() by_only "update_each/window/a_norm_that_is_not_finite_skips_and_backs_off_none";
    fn counts_what_is_left_out_as_a_skip() by_only "update_each/window/a_loss_that_is_left_out_backs_off_and_has_skipped_nothing";
}
