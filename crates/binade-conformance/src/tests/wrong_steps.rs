//! Subjects that are wrong in one way each where verdicts, clipping and names meet in a step.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Grads, Params, Plain, Slot, Steps, Toy, Unscaled};
use super::toy_train::{self, Training};
use super::wrong::without_one_nan;
use crate::{Backend as _, Clip, Result, TrainStep};
use binade_core::{DType, FoundInf, Named};
use binade_master_weights::{Lars, Sgd, Sums, UpdateRule};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

impl Fault for Wrong {
    fn train(&self, params: Params, turns: Steps) -> Result<Params> {
        let run = Run { amiss: self.0, before: false, forgotten: None };
        toy_train::train(params, turns, &mut { run })
    }
}

/// State that a subject keeps from one turn to the next.
struct Run {
    amiss: &'static str,
    /// True where the turn before was raised.
    before: bool,
    /// A master that was not written, as it was before.
    forgotten: Option<f32>,
}

impl Run {
    /// Returns the rule that is stepped by in place of `rule`.
    fn taken(&self, rule: &UpdateRule) -> UpdateRule {
        match *rule {
            UpdateRule::Lars(Lars { lr, momentum, dampening, weight_decay, nesterov, .. })
                if self.amiss == "scales_no_tensor_by_its_norms" =>
            {
                UpdateRule::Sgd(Sgd { lr, momentum, dampening, weight_decay, nesterov })
            }
            rule => rule,
        }
    }
}

impl Training for Run {
    fn unscaled(&mut self, turn: &TrainStep<Plain>) -> Result<Unscaled> {
        let clip = turn.clip.filter(|clip| match self.amiss {
            "steps_with_unclipped_gradients" => matches!(clip, Clip::Value(_)),
            _ => true,
        });
        let Some(clip) = clip else {
            let mut unscaled = Toy.unscale(turn.grads.clone(), turn.scale)?;
            if self.amiss == "takes_one_nan_for_a_number" {
                unscaled.found = Toy.unscale(without_one_nan(&turn.grads), turn.scale)?.found;
            }
            return Ok(unscaled);
        };
        let mut clipped = match (self.amiss, clip) {
            ("rounds_the_limit_to_the_gradients_type", Clip::Value(max)) => {
                let dtype = turn.grads.iter().find_map(|grad| Some(grad.value.as_ref()?.dtype()));
                let max = Plain::write(&[max], dtype.unwrap_or(DType::F32), &[]).read()[0];
                Toy.clip(turn.grads.clone(), turn.scale, Clip::Value(max))?
            }
            _ => Toy.clip(turn.grads.clone(), turn.scale, clip)?,
        };
        if self.amiss == "measures_nothing_before_the_step" {
            clipped.found = Toy.unscale(turn.grads.clone(), turn.scale)?.found;
        }
        Ok(clipped)
    }

    fn skips(&mut self, own: &FoundInf, beside: Option<&FoundInf>) -> bool {
        let flags = [own.is_raised(), beside.is_some_and(FoundInf::is_raised)];
        let now = flags.contains(&true);
        let before = std::mem::replace(&mut self.before, now);
        match self.amiss {
            "goes_by_the_verdict_before" => before,
            "steps_on_two_flags" => flags[0] != flags[1],
            "passes_over_what_is_beside" => flags[0],
            _ => now,
        }
    }

    fn matched(&mut self, params: &[Named<Plain>], grads: &Grads) -> Result<Vec<Option<usize>>> {
        let mut grads = grads.clone();
        let known = |name: &str| params.iter().position(|param| &*param.name == name);
        match self.amiss {
            "matches_by_place" if grads.len() == params.len() => {
                let places = grads.iter().enumerate();
                return Ok(places.map(|(at, grad)| grad.value.as_ref().map(|_| at)).collect());
            }
            "passes_over_strangers" => grads.retain(|grad| known(&grad.name).is_some()),
            "takes_the_second_of_one_name" => {
                let later = grads.clone();
                let mut at = 0;
                grads.retain(|grad| {
                    at += 1;
                    later[at..].iter().all(|other| other.name != grad.name)
                });
            }
            "fits_gradients_to_their_parameters" => {
                for grad in &mut grads {
                    if let (Some(value), Some(place)) = (&mut grad.value, known(&grad.name)) {
                        let shape = params[place].value.shape();
                        let mut values = value.read();
                        values.resize(shape.iter().product(), 0.0);
                        *value = Plain::write(&values, value.dtype(), shape);
                    }
                }
            }
            "steps_without_gradients" if grads.iter().all(|grad| grad.value.is_none()) => {
                return Ok((0..params.len()).map(Some).collect());
            }
            _ => {}
        }
        Toy.matched(params, &grads)
    }

    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        if skipped {
            return Ok(());
        }
        if let (Some(forgotten), Some(last)) = (self.forgotten.take(), slot.master.last_mut()) {
            *last = forgotten;
        }
        match self.amiss {
            "clips_each_tensor_by_its_own_norm" => {
                slot.all = Sums::of_grads(grad.iter().copied()).norm();
            }
            "starts_the_running_norm_anew" => slot.running = 0.0,
            _ => {}
        }
        let before = slot.master.last().copied();
        let mut fitted = grad.to_vec();
        fitted.resize(slot.master.len(), 0.0);
        slot.step(&self.taken(rule), &fitted)?;
        // The tail of a loop by vectors of eight.
        let drops = match self.amiss {
            "drops_the_last_element" => !slot.master.len().is_multiple_of(8),
            "drops_the_last_of_five" => slot.master.len() % 8 == 5,
            _ => false,
        };
        if drops {
            slot.master.pop();
            slot.master.extend(before);
        }
        if self.amiss == "forgets_the_last_moment_of_five" && slot.master.len() % 8 == 5 {
            slot.moments.iter_mut().filter_map(|all| all.last_mut()).for_each(|last| *last = 0.0);
        }
        if self.amiss == "forgets_the_last_master_of_five" && slot.master.len() % 8 == 5 {
            self.forgotten = before;
        }
        if self.amiss == "rounds_halves_away" {
            let halves = slot.master.iter_mut().filter(|x| x.to_bits() & 0xffff == 0x8000);
            halves.for_each(|x| *x = f32::from_bits(x.to_bits() + 1));
        }
        if self.amiss == "flushes_parameters" {
            for x in slot.master.iter_mut().filter(|x| x.is_subnormal()) {
                *x = 0.0_f32.copysign(*x);
            }
        }
        Ok(())
    }

    fn after_step(&mut self, slot: &mut Slot, _: &Plain, has_gradient: bool) {
        if self.amiss.starts_with("ages_") && !has_gradient {
            slot.applied += 1;
        }
    }
}

caught! {
    fn goes_by_the_verdict_before() by
        "sgd/f16<-f16/each_step_goes_by_its_own_verdict" "adam/bf16<-f32/each_step_goes_by_its_own_verdict";
    fn steps_on_two_flags() by_only
        "sgd/f32<-f32/two_raised_flags_skip_as_one_does" "adam/f16<-bf16/two_raised_flags_skip_as_one_does";
    fn passes_over_what_is_beside() by_only "sgd/bf16<-bf16/an_overflow_beside_it_leaves_every_bit_alone";
    fn drops_the_last_element() by "sgd/f32<-f32/all_of_33_elements" "adam/f16<-f16/all_of_257_elements";
    fn drops_the_last_of_five() by "sgd/f32<-f32/all_of_5_elements" "adam/bf16<-bf16/all_of_5_elements";
    fn forgets_the_last_moment_of_five() by_only "sgd/bf16<-bf16/all_of_5_elements";
    fn forgets_the_last_master_of_five() by_only "sgd/bf16<-bf16/all_of_5_elements" "adam/f16<-f16/all_of_5_elements";
    fn rounds_halves_away() by "sgd/bf16<-f32/a_master_halfway_between_two_parameters_becomes_the_even_one";
    fn steps_with_unclipped_gradients() by "sgd/f16<-f32/a_gradient_is_clipped_by_norm_in_f32_before_the_step";
    fn rounds_the_limit_to_the_gradients_type() by_only "sgd/f32<-f16/a_gradient_is_clipped_by_value_in_f32_before_the_step";
    fn measures_nothing_before_the_step() by_only "sgd/f32<-bf16/a_norm_that_is_not_finite_leaves_every_bit_alone";
    fn takes_one_nan_for_a_number() by_only
        "adam/bf16<-bf16/every_nan_and_infinity_leaves_every_bit_alone"
        "adam/f16<-f16/every_nan_and_infinity_leaves_every_bit_alone"
        "adam/f32<-f32/every_nan_and_infinity_leaves_every_bit_alone";
    fn flushes_parameters() by_only "sgd/f32<-f32/a_gradient_of_zero_keeps_subnormal_and_largest_parameters";
    fn matches_by_place() by "sgd/f16<-f16/gradients_are_matched_by_name_whatever_their_order";
    fn steps_without_gradients() by_only "adam/f16<-f16/a_step_without_any_gradient_is_refused_unless_it_is_skipped";
    fn ages_without_a_gradient() by_only "adam/bf16<-bf16/a_parameter_without_a_gradient_does_not_age";
    fn passes_over_strangers() by_only "sgd/f32<-f32/a_gradient_without_a_parameter_is_a_mismatch";
    fn takes_the_second_of_one_name() by_only "sgd/f32<-f32/a_second_gradient_of_one_name_is_a_mismatch";
    fn clips_each_tensor_by_its_own_norm() by "whole_tensors/f32<-f32/200_steps_of_lamb";
    fn scales_no_tensor_by_its_norms() by
        "whole_tensors/f32<-f32/1_steps_of_larc"
        "whole_tensors/bf16<-bf16/a_trust_ratio_is_the_norm_of_the_parameter_over_that_of_the_gradient";
    fn ages_a_whole_tensor_without_a_gradient() by
        "whole_tensors/f32<-f32/a_step_of_lamb_that_adapts_nothing_goes_by_the_gradients_that_are_there";
    fn starts_the_running_norm_anew() by
        "whole_tensors/f32<-f32/2_steps_of_novograd"
        "whole_tensors/f32<-f32/200_steps_of_novograd_by_the_largest_gradient";
    fn fits_gradients_to_their_parameters() by_only "sgd/f32<-f32/a_gradient_of_another_length_is_a_mismatch";
}
