//! Subjects whose normalisation of channels is wrong in one way each.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements as _, Plain, Tensors, Toy};
use super::toy_ops::{count, map, zeroed, zip};
use crate::backend::Backend as _;
use crate::{OpInvocation, Result};
use binade_core::ops::BatchNormConfig;

/// The fault of this name.
struct Wrong(&'static str);

impl Fault for Wrong {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        use OpInvocation as C;
        let mut results = Toy.compute(op, operands)?;
        match (self.0, op, operands) {
            ("normalises_unbiased", C::BatchNorm { config }, [x, w, b, mean, var]) => {
                // At a momentum of one, the running statistics are the batch's mean and its unbiased variance.
                let whole = C::BatchNorm { config: BatchNormConfig { momentum: 1.0, ..*config } };
                let batch = Toy.compute(&whole, &[x, w, b, mean, var])?;
                let by_running = C::BatchNormInference { eps: config.eps };
                results.splice(..1, Toy.compute(&by_running, &[x, w, b, &batch[1], &batch[2]])?);
            }
            ("runs_biased", C::BatchNorm { config }, [x, _, _, _, old]) => {
                let kept = map(old, |old| (1.0 - config.momentum) * old);
                results[2] = zip(&results[2], &kept, |var, kept| kept + (var - kept) * biased(x));
            }
            ("tells_biased_statistics", C::BatchNormStats, [x]) => {
                results[1] = map(&results[1], |var| var * biased(x));
            }
            ("sums_about_zero", C::BatchNormGradSums { .. }, [g, x, mean, var]) => {
                results = Toy.compute(op, &[g, x, &map(mean, |_| 0.0), var])?;
            }
            ("forgets_the_mean_of_gradients", C::BatchNormInputGrad { .. }, [rest @ .., means]) => {
                let means = zeroed(means, means.shape()[1], 1);
                results = Toy.compute(op, &[rest, &[&means]].concat())?;
            }
            ("normalises_by_all_channels", C::GroupNorm { eps, .. }, [x, w, b]) => {
                results = Toy.compute(&C::GroupNorm { groups: 1, eps: *eps }, &[x, w, b])?;
            }
            ("weighs_behind_the_means", C::GroupNormBackward { groups, eps }, [g, x, w]) => {
                // As batch normalisation has it, whose weight is one number for all that is averaged.
                let ones = map(w, |_| 1.0);
                let plain = C::GroupNormBackward { groups: *groups, eps: *eps };
                let input = Toy.compute(&plain, &[g, x, &ones])?.remove(0);
                let inner = x.len() / (x.shape()[0] * x.shape()[1]).max(1);
                let (of_channel, factors) = (input.read(), w.read());
                let weighed = of_channel.iter().enumerate();
                let weighed = weighed.map(|(at, g)| g * factors[at / inner % factors.len()]);
                results[0] = Plain::write(&weighed.collect::<Vec<_>>(), x.dtype(), x.shape());
            }
            ("sums_one_sample", C::GroupNormBackward { .. }, [g, x, w]) => {
                let of_sample = x.len() / x.shape()[0].max(1);
                results = Toy.compute(op, &[&zeroed(g, of_sample, 1), x, w])?;
            }
            _ => {}
        }
        Ok(results)
    }
}

/// Factor of an unbiased variance that makes it biased.
fn biased(x: &Plain) -> f32 {
    let n = count(x.len()) / count(x.shape()[1]);
    (n - 1.0) / n
}

caught! {
    fn normalises_by_all_channels() by
        "group_norm/f32/random_2x6x5_by_3" "group_norm/f16/a_group_of_equal_values_is_its_bias";
    fn weighs_behind_the_means() by
        "group_norm/f32/random_3x6_by_2" "group_norm/f32/a_weight_of_zero_leaves_its_group_a_gradient";
    fn sums_one_sample() by "group_norm/bf16/random_2x4x31_by_2";
    fn normalises_unbiased() by
        "batch_norm/bf16/a_batch_of_two_is_normalised_by_the_biased_variance"
        "batch_norm/f16/a_batch_of_two_is_normalised_by_the_biased_variance"
        "batch_norm/f32/a_batch_of_two_is_normalised_by_the_biased_variance";
    fn runs_biased() by "batch_norm/f16/random_7x3";
    fn tells_biased_statistics() by "batch_norm/f32/steps_7x3" "batch_norm/bf16/steps_2x1";
    fn sums_about_zero() by "batch_norm/f16/steps_7x3" "batch_norm/f32/steps_of_one_value_or_none";
    fn forgets_the_mean_of_gradients() by
        "batch_norm/f32/steps_33x9" "batch_norm/f16/steps_of_one_value_or_none";
}
