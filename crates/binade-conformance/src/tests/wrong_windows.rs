//! Subjects whose operations with windows over images are wrong in one way each.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements as _, Plain, Tensors, Toy};
use super::toy_ops::map;
use crate::backend::Backend as _;
use crate::{OpInvocation, Result};
use binade_core::ops::AvgPool2dConfig;

/// The fault of this name.
struct Wrong(&'static str);

impl Fault for Wrong {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        use OpInvocation as C;
        let right = Toy.compute(op, operands)?;
        let counted =
            |config: AvgPool2dConfig| AvgPool2dConfig { count_include_pad: true, ..config };
        match (self.0, op, operands) {
            ("counts_padding_always", C::AvgPool2d { config }, _) => {
                Toy.compute(&C::AvgPool2d { config: counted(*config) }, operands)
            }
            ("shares_with_padding_always", C::AvgPool2dBackward { shape, config }, _) => {
                let (shape, config) = (shape.clone(), counted(*config));
                Toy.compute(&C::AvgPool2dBackward { shape, config }, operands)
            }
            ("averages_in_f16", C::AvgPool2d { .. } | C::AdaptiveAvgPool2d { .. }, [x]) => {
                // The sum of these elements, had it overflowed.
                let limit = 65504.0 / 16.0;
                let lost = x.read().iter().any(|x| x.is_finite() && *x > limit);
                Ok(right.iter().map(|y| map(y, |y| if lost { f32::INFINITY } else { y })).collect())
            }
            ("slides_in_the_place_of_adapting", C::AdaptiveAvgPool2d { output }, [x]) => {
                // Windows of one size, as if the output divided the image.
                let stride = [0, 1].map(|axis| (x.shape()[axis + 2] / output[axis]).max(1));
                let config = AvgPool2dConfig {
                    kernel: stride,
                    stride,
                    padding: [0, 0],
                    count_include_pad: true,
                };
                let slid = Toy.compute(&C::AvgPool2d { config }, operands)?;
                let fits = slid[0].shape() == right[0].shape();
                Ok(if fits { slid } else { right })
            }
            _ => Ok(right),
        }
    }
}

caught! {
    fn counts_padding_always() by
        "avg_pool2d/f32/padding_counts_where_it_is_to_count" "avg_pool2d/bf16/random_2x3x5x6_by_3x2_stride_1x2_padding_1x1";
    fn shares_with_padding_always() by "avg_pool2d/f16/padding_counts_where_it_is_to_count";
    fn averages_in_f16() by_only "avg_pool2d/f16/a_sum_beyond_the_format_still_has_a_mean";
    fn slides_in_the_place_of_adapting() by
        "adaptive_avg_pool2d/f32/neighbouring_windows_share_an_element"
        "adaptive_avg_pool2d/f16/random_1x2x33x31_to_5x7";
}
