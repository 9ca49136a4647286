//! Subjects that are wrong in one way each.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Grads, Params, Plain, Slot, Steps, Toy, Unscaled, plain};
use super::toy_train::{self, Training};
use crate::{Backend as _, IterationFindings, Result, UnscaleResult};
use binade_core::{DType, FoundInf, Named, Overflow};
use binade_grad_scaler::{LossScale, ScaleState};
use binade_master_weights::UpdateRule;
use half::f16;

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(pub(super) &'static str);

pub(super) const FLUSHES: Wrong = Wrong("flushes_subnormals");

impl Fault for Wrong {
    fn cast(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        assert!(self.0 != "panics", "not today");
        if tensor.dtype() == DType::F64 {
            return Toy.cast(tensor, to);
        }
        let lost = |i: usize, x: f32| self.0 == "loses_nan_in_one_lane" && i % 8 == 5 && x.is_nan();
        let values = tensor.read().into_iter().enumerate();
        let values = values.map(|(i, x)| if lost(i, x) { 0.0 } else { x });
        let narrowed = values.map(|x| if to == DType::F16 { self.before_f16(x) } else { x });
        Ok(Plain::write(&narrowed.collect::<Vec<f32>>(), to, tensor.shape()))
    }

    fn cast_saturating(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        match self.0 {
            "overflows_where_it_saturates" => Toy.cast(tensor, to),
            _ => Toy.cast_saturating(tensor, to),
        }
    }

    fn unscale(&self, grads: Grads, scale: ScaleState) -> Result<Unscaled> {
        let found = self.finding(&grads, scale)?;
        let mut divided = Toy.unscale(grads.clone(), scale)?.grads;
        for (after, before) in divided.iter_mut().zip(&grads) {
            if let (Some(after), Some(before)) = (&mut after.value, &before.value) {
                self.spoil(after, before);
            }
        }
        if self.0 == "loses_gradients_of_imported_scales"
            && scale.significand.to_bits() != 1.0_f32.to_bits()
        {
            divided.clear();
        }
        Ok(UnscaleResult { grads: divided, found })
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &IterationFindings,
    ) -> Result<ScaleState> {
        let mut rule = *rule;
        match self.0 {
            "grows_one_step_late" => rule.growth_interval += 1,
            "halves_at_the_floor" => rule.min_exponent = -100,
            _ => {}
        }
        Toy.update_scale(&rule, scale, round)
    }

    fn train(&self, params: Params, mut turns: Steps) -> Result<Params> {
        if let ("unscales_by_the_new_scale", Some(newest)) = (self.0, turns.last().map(|t| t.scale))
        {
            for turn in &mut turns {
                turn.scale = newest;
            }
        }
        toy_train::train(params, turns, &mut { *self })
    }
}

impl Wrong {
    /// Value that replaces another before it is rounded to f16.
    fn before_f16(self, x: f32) -> f32 {
        let nearest = f16::from_f32(x).to_f32();
        match self.0 {
            "flushes_subnormals" if nearest.abs() < 2.0_f32.powi(-14) => 0.0_f32.copysign(x),
            // One unit of f32 away from zero, where x is finite and no number of f16: ties go up.
            "rounds_half_up" if x.is_finite() && nearest != x => f32::from_bits(x.to_bits() + 1),
            _ => x,
        }
    }

    fn finding(self, grads: &Grads, scale: ScaleState) -> Result<FoundInf> {
        let halted = scale.diverged;
        let found = match self.0 {
            "misses_the_last_element" => Toy.unscale(without_last(grads), scale)?.found,
            "misses_one_nan" => Toy.unscale(without_one_nan(grads), scale)?.found,
            "checks_only_before" => Toy.unscale(grads.clone(), ScaleState::from_exponent(0))?.found,
            _ => Toy.unscale(grads.clone(), scale)?.found,
        };
        let overflow = match self.0 {
            "names_the_last_offender" => last_offender(grads, scale),
            _ => found.overflow,
        };
        Ok(FoundInf { halted, overflow, ..found })
    }

    /// Changes an unscaled gradient by this subject's fault.
    fn spoil(self, after: &mut Plain, before: &Plain) {
        let mut values = after.read();
        match (self.0, values.last_mut(), before.read().last()) {
            ("leaves_the_last_element_scaled", Some(last), Some(scaled)) => *last = *scaled,
            ("unscales_into_f16", ..) => {
                values = Plain::write(&values, DType::F16, after.shape()).read();
            }
            _ => {}
        }
        *after = Plain::write(&values, after.dtype(), after.shape());
    }

    /// 1e-8 is zero in f16.
    fn altered(self, mut rule: UpdateRule) -> UpdateRule {
        match (self.0, &mut rule) {
            ("adds_epsilon_in_f16", UpdateRule::Adam(adam)) => adam.eps = 0.0,
            ("forgets_the_initial_sum", UpdateRule::Adagrad(adagrad)) => {
                adagrad.initial_accumulator_value = 0.0;
            }
            ("keeps_the_rate", UpdateRule::Adagrad(adagrad)) => adagrad.lr_decay = 0.0,
            ("steps_by_the_gradients_sign", UpdateRule::Lion(lion)) => lion.betas[0] = 0.0,
            _ => {}
        }
        rule
    }
}

impl Training for Wrong {
    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        match (self.0, skipped) {
            ("takes_zero_for_positive", false) if rule.name() == "lion" => {
                let positive = |g: &f32| if *g == 0.0 { 1e-30 } else { *g };
                slot.step(rule, &grad.iter().map(positive).collect::<Vec<f32>>())
            }
            ("steps_on_overflow", _) | (_, false) => slot.step(&self.altered(*rule), grad),
            ("decays_on_overflow", true) => {
                decay(rule, slot);
                Ok(())
            }
            ("counts_skipped_steps", true) => {
                slot.applied += 1;
                Ok(())
            }
            (_, true) => Ok(()),
        }
    }

    fn after_step(&mut self, slot: &mut Slot, param: &Plain, _: bool) {
        if self.0 == "forgets_masters" {
            slot.master = param.read();
        }
    }
}

/// Returns the gradients as a pass that ends one element early sees them.
fn without_last(grads: &Grads) -> Grads {
    let mut grads = grads.clone();
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let mut bytes = grad.to_bits();
        let kept = grad.len().saturating_sub(1);
        bytes.truncate(kept * grad.dtype().bytes());
        *grad = plain(&bytes, grad.dtype(), &[kept]);
    }
    grads
}

/// Returns the gradients as a pass that takes the least negative signalling NaN for a number sees them.
pub(super) fn without_one_nan(grads: &Grads) -> Grads {
    let mut grads = grads.clone();
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let missed: &[u8] = match grad.dtype() {
            DType::BF16 => &[0x81, 0xff],
            DType::F16 => &[0x01, 0xfc],
            _ => &[0x01, 0x00, 0x80, 0xff],
        };
        let mut bytes = grad.to_bits();
        for element in bytes.chunks_mut(missed.len()).filter(|element| *element == missed) {
            element.fill(0);
        }
        *grad = plain(&bytes, grad.dtype(), grad.shape());
    }
    grads
}

fn last_offender(grads: &Grads, scale: ScaleState) -> Option<Overflow> {
    let mut last = None;
    for Named { name, value } in grads {
        for (index, scaled) in value.iter().flat_map(Plain::read).enumerate() {
            let mut found = FoundInf::default();
            found.check(name, index as u64, scaled, scaled / scale.factor());
            last = found.overflow.or(last);
        }
    }
    last
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn decay(rule: &UpdateRule, slot: &mut Slot) {
    if let UpdateRule::Adam(rule) = rule {
        let kept = (1.0 - rule.lr * rule.weight_decay) as f32;
        slot.master = slot.master.iter().map(|p| p * kept).collect();
    }
}

caught! {
    fn flushes_subnormals() by "cast/f32-f16/subnormals_are_kept";
    fn rounds_half_up() by "cast/f32-f16/a_tie_goes_to_the_even_neighbour";
    fn misses_the_last_element() by "unscale/f16/a_nan_in_the_last_of_4097_is_found";
    fn misses_one_nan() by
        "unscale/bf16/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign"
        "unscale/f16/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign"
        "unscale/f32/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign";
    fn leaves_the_last_element_scaled() by "unscale/bf16/all_of_33_elements";
    fn loses_gradients_of_imported_scales() by
        "unscale/bf16/divides_by_an_imported_scale_within_two_ulps"
        "unscale/f16/divides_by_an_imported_scale_within_two_ulps" "unscale/f32/divides_by_an_imported_scale_within_two_ulps";
    fn names_the_last_offender() by
        "unscale/f32/the_first_offender_is_of_the_lowest_parameter" "unscale/f32/the_first_offender_has_the_lowest_index";
    fn unscales_into_f16() by "unscale/f16/what_scaling_rescued_is_not_lost_again";
    fn checks_only_before() by "unscale/f32/infinite_only_once_unscaled_is_an_overflow";
    fn grows_one_step_late() by
        "scale_update/-/grows_after_3_good_steps_and_not_before" "scale_update/-/the_default_interval_is_kept_to_the_step";
    fn halves_at_the_floor() by "scale_update/-/an_overflow_at_the_floor_is_divergence";
    fn steps_on_overflow() by "sgd/f16<-f16/an_infinity_leaves_every_bit_alone" "adam/bf16<-f32/a_nan_leaves_every_bit_alone";
    fn decays_on_overflow() by "adam/f32<-f32/a_skipped_step_does_not_decay_weights";
    fn counts_skipped_steps() by "adam/f32<-f16/a_skipped_step_is_not_counted";
    fn unscales_by_the_new_scale() by "sgd/f16<-f16/each_gradient_is_divided_by_the_scale_it_was_made_with";
    fn forgets_masters() by "sgd/bf16<-bf16/a_hundred_steps_of_1e_4_take_one_to_0_99";
    fn adds_epsilon_in_f16() by "adam/f16<-f16/a_gradient_of_zero_moves_nothing_and_makes_no_nan";
    fn forgets_the_initial_sum() by "adagrad/f16<-f32/sums_begin_at_their_initial_value";
    fn keeps_the_rate() by "adagrad/bf16<-f32/the_first_step_is_the_rate_and_the_second_less_by_the_decay";
    fn steps_by_the_gradients_sign() by "lion/bf16<-f16/a_momentum_that_outweighs_the_gradient_decides";
    fn takes_zero_for_positive() by "lion/f16<-f32/a_gradient_of_zero_moves_nothing_as_yet";
    fn loses_nan_in_one_lane() by "cast/e4m3-f32/a_value_is_rounded_alike_in_every_lane";
    fn overflows_where_it_saturates() by "cast/f32-f16/overflow_to_the_largest_is_given_or_refused";
}
