//! Subjects with one fault each where found-inf results are joined and the scale is updated without a read.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Plain, Toy};
use crate::{
    Backend as _, Iteration, IterationResult, MergeResult, MicroBatch, Result, ScaleTrace,
};
use binade_core::DType;
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, ScaleStore};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

impl Fault for Wrong {
    fn scale(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        let scaled = Toy.scale(tensor, scale)?;
        Ok(match self.0 {
            "scales_in_the_type_of_the_loss" => {
                let narrow = Plain::write(&scaled.read(), tensor.dtype(), tensor.shape());
                Plain::write(&narrow.read(), DType::F32, tensor.shape())
            }
            _ => scaled,
        })
    }

    fn unscale_tensor(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        let mut values = Toy.unscale_tensor(tensor, scale)?.read();
        if let ("leaves_the_last_element_unscaled", Some(last)) = (self.0, tensor.read().last()) {
            values.pop();
            values.push(*last);
        }
        Ok(Plain::write(&values, DType::F32, tensor.shape()))
    }

    fn merge(
        &self,
        into: MicroBatch<Plain>,
        from: MicroBatch<Plain>,
        join: MergeRule,
    ) -> Result<MergeResult> {
        let join = match self.0 {
            "joins_all_as_any" => MergeRule::Any,
            "joins_any_as_all" => MergeRule::All,
            _ => join,
        };
        let mut seen = Toy.merge(into, from, join)?;
        let MergeResult { joined, into, from } = &mut seen;
        match self.0 {
            "names_the_later_overflow" if joined.overflow.is_some() && from.overflow.is_some() => {
                joined.overflow.clone_from(&from.overflow);
            }
            "forgets_the_others_counts" => {
                (joined.infinities, joined.nans) = (into.infinities, into.nans);
            }
            "makes_up_a_norm" => joined.norm = Some(0.0),
            "keeps_its_own_magnitude" => joined.magnitude = into.magnitude,
            "lets_a_halt_pass" => joined.halted &= from.halted,
            "joins_into_clones" => *into = joined.clone(),
            _ => {}
        }
        Ok(seen)
    }

    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Plain>>,
    ) -> Result<ScaleTrace> {
        let (mut scale, mut stages) = (start, Vec::<IterationResult>::new());
        for iteration in iterations {
            let mut next = Toy.iterate(rule, scale, vec![iteration])?.stages.remove(0);
            if let ("goes_by_the_iteration_before", Some(last)) = (self.0, stages.last()) {
                next.verdict.clone_from(&last.verdict);
            }
            scale = self.moved(rule, scale, &next);
            next.ready = self.0 != "is_never_ready";
            stages.push(next);
        }
        if self.0 == "reads_what_is_now" {
            for before in stages.iter_mut().filter_map(|stage| stage.before.as_mut()) {
                *before = scale;
            }
        }
        Ok(ScaleTrace { stages, scale })
    }
}

impl Wrong {
    fn moved(self, rule: &LossScale, scale: ScaleState, stage: &IterationResult) -> ScaleState {
        let (parts, verdicts): (Vec<_>, Vec<_>) =
            (stage.parts.iter().collect(), stage.verdict.iter().collect());
        let mut after = scale;
        binade_cpu::Cpu.update(&mut after, &parts, &verdicts, rule).expect("a host does not fail");
        let raised = stage.verdict.as_ref().is_some_and(binade_core::FoundInf::is_raised);
        match self.0 {
            "keeps_the_first_scale" => ScaleState { exponent: scale.exponent, ..after },
            "counts_one_pass_as_a_skip" if after.overflows > scale.overflows && !raised => {
                ScaleState { skipped: after.skipped + 1, bad_steps: after.bad_steps + 1, ..after }
            }
            "wants_a_pass" if stage.parts.is_empty() => scale,
            "forgets_that_it_diverged" => ScaleState { diverged: false, ..after },
            _ => after,
        }
    }
}

caught! {
    fn scales_in_the_type_of_the_loss() by "scale/f16/a_loss_of_two_is_scaled_beyond_65504";
    fn leaves_the_last_element_unscaled() by "scale/bf16/all_of_33_elements";
    fn joins_all_as_any() by "merge/all/it_overflows_only_where_both_do";
    fn joins_any_as_all() by "merge/any/it_overflows_where_either_does";
    fn names_the_later_overflow() by_only
        "merge/any/it_keeps_the_place_of_the_first_overflow" "merge/all/it_keeps_the_place_of_the_first_overflow";
    fn forgets_the_others_counts() by_only "merge/any/it_adds_counts_up";
    fn keeps_its_own_magnitude() by_only "merge/all/it_takes_the_larger_magnitude";
    fn makes_up_a_norm() by_only "merge/any/it_has_no_norm_where_none_was_measured";
    fn lets_a_halt_pass() by_only "merge/any/it_is_halted_where_either_is";
    fn joins_into_clones() by_only "merge/any/what_the_two_read_stays_as_it_was";
    fn goes_by_the_iteration_before() by "iterate/-/each_iteration_goes_by_its_own_verdict";
    fn keeps_the_first_scale() by "iterate/-/the_scale_that_moved_is_the_next_ones";
    fn counts_one_pass_as_a_skip() by "iterate/-/a_pass_left_out_backs_off_and_skips_nothing";
    fn wants_a_pass() by_only "iterate/-/an_iteration_without_a_pass_is_a_good_one";
    fn reads_what_is_now() by_only "iterate/-/an_earlier_clone_reads_what_it_did";
    fn forgets_that_it_diverged() by "iterate/-/divergence_halts_what_follows_unread";
    fn is_never_ready() by_only "iterate/-/what_was_read_is_ready";
}
