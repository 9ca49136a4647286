//! Subjects with one fault each in clips and sums of sets, and in steps that are skipped together.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Grads, Plain, Toy, Unscaled};
use super::toy_sets::{self, each, norm};
use crate::{Backend as _, Clip, Layout, MicroBatch, Result, UnscaleResult};
use binade_core::{DType, FoundInf, Named, stochastic::Key};
use binade_grad_scaler::{Norm, ScaleState, clip_factor};
use half::f16;

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(pub(super) &'static str);

impl Fault for Wrong {
    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Plain> {
        let in_memory = match (self.0, layout) {
            ("reads_from_the_start_of_the_buffer", Layout::Offset(_)) => true,
            ("reads_in_the_order_of_memory", layout) => !matches!(layout, Layout::Offset(_)),
            _ => false,
        };
        if let ("reads_to_the_end_of_the_buffer", Layout::Offset(_)) = (self.0, layout) {
            let buffer = layout.buffer(bits, dtype, shape);
            return Toy.from_bits(&buffer[buffer.len() - bits.len()..], dtype, shape);
        }
        if in_memory {
            let buffer = layout.buffer(bits, dtype, shape);
            return Toy.from_bits(&buffer[..bits.len()], dtype, shape);
        }
        Toy.view(bits, dtype, shape, layout)
    }

    fn cast_stochastic(&self, tensor: &Plain, to: DType, key: Key) -> Result<Plain> {
        let word = toy_sets::word(match self.0 {
            "forgets_the_step" => Key { step: 0, ..key },
            "reuses_bits_in_every_fourth_parameter" => Key { parameter: key.parameter % 4, ..key },
            _ => key,
        });
        match self.0 {
            "rounds_to_nearest" => Toy.cast(tensor, to),
            "shares_one_word_among_four" => {
                Ok(toy_sets::cast_stochastic(tensor, to, |index| word(index / 4 * 4)))
            }
            _ => Ok(toy_sets::cast_stochastic(tensor, to, word)),
        }
    }

    fn norm(&self, grads: Grads, scale: ScaleState, which: Norm) -> Result<FoundInf> {
        let UnscaleResult { grads, mut found } = Toy.unscale(grads, scale)?;
        let raised = found.overflow.clone();
        found.record_norm(self.measure(grads, which));
        if self.0 == "keeps_the_verdict_of_the_norm" {
            found.overflow.clone_from(&raised);
        }
        if self.0 == "counts_the_norm" && raised.is_none() && found.overflow.is_some() {
            found.infinities += 1;
        }
        Ok(found)
    }

    fn clip(&self, grads: Grads, scale: ScaleState, clip: Clip) -> Result<Unscaled> {
        let given = grads.clone();
        if self.0 == "clips_before_unscaling" {
            let clipped = Toy.clip(given, ScaleState::from_exponent(0), clip)?.grads;
            return Toy.unscale(clipped, scale);
        }
        if self.0 == "forgets_counts_when_clipping" {
            let mut clipped = Toy.clip(given, scale, clip)?;
            clipped.found.infinities = 0;
            return Ok(clipped);
        }
        let UnscaleResult { mut grads, found } = Toy.unscale(grads, scale)?;
        match (self.0, clip) {
            ("divides_by_more_than_the_norm", Clip::Norm(which, max)) => {
                let factor = clip_factor(norm(&grads, which) + 1e-6, max);
                each(&mut grads, |x| x * factor);
            }
            ("clips_each_parameter_alone", Clip::Norm(which, max)) => alone(&mut grads, which, max),
            ("makes_a_nan_the_limit", Clip::Value(max)) => {
                each(&mut grads, |x| x.min(max).max(-max));
            }
            ("takes_any_limit", Clip::Norm(_, max) | Clip::Value(max))
                if max.is_nan() || max <= 0.0 => {}
            _ => return Toy.clip(given, scale, clip),
        }
        Ok(UnscaleResult { grads, found })
    }

    fn accumulate(&self, mut window: Vec<MicroBatch<Plain>>) -> Result<Grads> {
        match self.0 {
            "adds_bad_micro_batches" => {
                for micro in &mut window {
                    micro.scale.diverged = false;
                    tame(&mut micro.grads);
                }
            }
            "zeroes_what_is_missing" => window.iter_mut().for_each(fill),
            "adds_by_place" => rename(&mut window),
            "loses_what_follows_a_bad_start" => {
                let start =
                    window.first().cloned().map(|first| Toy.unscale(first.grads, first.scale));
                if start.transpose()?.is_some_and(|start| start.found.is_raised()) {
                    window.truncate(1);
                }
            }
            _ => {}
        }
        if self.0 == "sums_micro_batches_in_f16" {
            return in_f16(window);
        }
        let mut sums = Toy.accumulate(window)?;
        if self.0 == "flushes_sums" {
            for sum in sums.iter_mut().filter_map(|sum| sum.value.as_mut()) {
                let flushed = |x: f32| if x.is_subnormal() { 0.0 } else { x };
                let values: Vec<f32> = sum.read().into_iter().map(flushed).collect();
                *sum = Plain::write(&values, sum.dtype(), sum.shape());
            }
        }
        Ok(sums)
    }
}

impl Wrong {
    fn measure(self, mut grads: Grads, which: Norm) -> f64 {
        match self.0 {
            "sums_squares_in_f32" if which == Norm::L2 => {
                let values = grads.iter().filter_map(|g| g.value.as_ref()).flat_map(Plain::read);
                f64::from(values.fold(0.0_f32, |sum, x| sum + x * x).sqrt())
            }
            "passes_over_nans" => {
                each(&mut grads, |x| if x.is_nan() { 0.0 } else { x });
                norm(&grads, which)
            }
            "measures_the_last_parameter_alone" => {
                let before = grads.len().saturating_sub(1);
                norm(&grads.split_off(before), which)
            }
            _ => norm(&grads, which),
        }
    }
}

fn alone(grads: &mut Grads, which: Norm, max: f32) {
    for grad in grads {
        let factor = clip_factor(norm(&vec![grad.clone()], which), max);
        each(std::slice::from_mut(grad), |x| x * factor);
    }
}

/// Rounds the sum to f16 after each micro-batch.
fn in_f16(window: Vec<MicroBatch<Plain>>) -> Result<Grads> {
    let mut sums = None;
    for micro in window {
        let so_far = sums.map(|grads| MicroBatch { grads, scale: ScaleState::from_exponent(0) });
        let mut sum = Toy.accumulate(so_far.into_iter().chain([micro]).collect())?;
        each(&mut sum, |x| f16::from_f32(x).to_f32());
        sums = Some(sum);
    }
    Ok(sums.unwrap_or_default())
}

/// Makes bad gradients look good: elements that are not finite become zero.
fn tame(grads: &mut Grads) {
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let values = grad.read().into_iter().map(|x| if x.is_finite() { x } else { 0.0 });
        *grad = Plain::write(&values.collect::<Vec<f32>>(), grad.dtype(), grad.shape());
    }
}

/// Renames every set's gradients by the names of the first set, if they are as many.
fn rename(window: &mut [MicroBatch<Plain>]) {
    let names: Vec<_> =
        window.iter().take(1).flat_map(|micro| &micro.grads).map(|g| g.name.clone()).collect();
    for micro in window.iter_mut().filter(|micro| micro.grads.len() == names.len()) {
        for (grad, name) in micro.grads.iter_mut().zip(&names) {
            grad.name = name.clone();
        }
    }
}

/// Fills missing gradients with zeros of another gradient's shape.
fn fill(micro: &mut MicroBatch<Plain>) {
    let like = micro.grads.iter().find_map(|grad| grad.value.clone());
    let zeros = like.map(|like| Plain::write(&vec![0.0; like.len()], like.dtype(), like.shape()));
    for Named { value, .. } in &mut micro.grads {
        *value = value.take().or(zeros.clone());
    }
}

caught! {
    fn sums_squares_in_f32() by
        "norm/bf16/elements_of_1e25_do_not_overflow" "norm/f32/squares_of_1e_25_are_not_lost"
        "norm/f16/300007_equal_elements_keep_full_accuracy";
    fn passes_over_nans() by "norm/f32/a_nan_or_an_infinity_anywhere_shows_and_raises_the_verdict";
    fn keeps_the_verdict_of_the_norm() by "norm/f16/a_norm_beyond_f32_is_infinite_and_raises_the_verdict";
    fn counts_the_norm() by_only "norm/f16/a_norm_beyond_f32_is_named_as_a_norm_and_counts_no_element";
    fn measures_the_last_parameter_alone() by "norm/bf16/all_parameters_count_together";
    fn divides_by_more_than_the_norm() by "clip/f32/a_norm_within_the_limit_keeps_every_bit";
    fn clips_each_parameter_alone() by "clip/f16/all_parameters_share_one_factor";
    fn makes_a_nan_the_limit() by "clip/bf16/clip_value_leaves_a_nan_a_nan";
    fn forgets_counts_when_clipping() by_only "clip/f16/all_that_a_pass_found_is_told_beside_the_norm";
    fn clips_before_unscaling() by "clip/f32/the_limit_is_of_unscaled_gradients_whatever_the_scale";
    fn takes_any_limit() by_only "clip/f16/a_limit_that_is_no_positive_number_is_an_invalid_argument";
    fn adds_by_place() by_only "accumulate/bf16/sets_that_differ_in_a_name_are_a_mismatch";
    fn adds_bad_micro_batches() by
        "accumulate/f32/a_nan_keeps_its_whole_micro_batch_out" "accumulate/f16/a_diverged_scale_keeps_its_micro_batch_out";
    fn sums_micro_batches_in_f16() by "accumulate/bf16/ones_add_up_beyond_2048";
    fn flushes_sums() by_only "accumulate/f32/numbers_of_every_size_add_up" "accumulate/f16/numbers_of_every_size_add_up";
    fn zeroes_what_is_missing() by "accumulate/f32/what_no_micro_batch_has_the_sum_has_not";
    fn loses_what_follows_a_bad_start() by "accumulate/f16/an_infinity_keeps_its_whole_micro_batch_out";
    fn rounds_to_nearest() by "stochastic_cast/f32-bf16/a_value_goes_up_by_the_chance_of_what_is_cut_off";
    fn shares_one_word_among_four() by "stochastic_cast/f32-e4m3/all_of_7_elements";
    fn forgets_the_step() by "stochastic_cast/f32-f16/the_step_counts";
    fn reuses_bits_in_every_fourth_parameter() by_only "stochastic_cast/f32-bf16/the_parameter_counts";
    fn reads_from_the_start_of_the_buffer() by "cast/e5m2-f16/starts_anywhere_in_a_buffer" "norm/f16/starts_anywhere_in_a_buffer";
    fn reads_to_the_end_of_the_buffer() by "sum/f16/starts_anywhere_in_a_buffer" "scale/f32/starts_anywhere_in_a_buffer";
}
