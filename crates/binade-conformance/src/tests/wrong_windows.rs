//! Subjects whose operations with windows over images are wrong in one way each.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements as _, Plain, Tensors, Toy};
use super::toy_ops::map;
use crate::backend::Backend as _;
use crate::{OpInvocation, Result};
use binade_core::ops::{AvgPool2dConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig};

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
                let config =
                    AvgPool2dConfig { kernel: stride, stride, ..AvgPool2dConfig::square(1) };
                let slid = Toy.compute(&C::AvgPool2d { config }, operands)?;
                let fits = slid[0].shape() == right[0].shape();
                Ok(if fits { slid } else { right })
            }
            ("gives_every_group_the_first_channels", C::Conv2d { config }, [x, w, ..])
                if config.groups > 1 =>
            {
                let (channels, plane) = (x.shape()[1], x.shape()[2] * x.shape()[3]);
                let (own, values) = (w.shape()[1] * plane, x.read());
                let first =
                    |at: usize| values[at / (channels * plane) * channels * plane + at % own];
                let first: Vec<f32> = (0..values.len()).map(first).collect();
                let first = Plain::write(&first, x.dtype(), x.shape());
                Toy.compute(op, &[&[&first][..], &operands[1..]].concat())
            }
            ("forgets_dilation", C::Conv2d { config }, _) if config.dilation != [1, 1] => {
                let config = Conv2dConfig { dilation: [1, 1], ..*config };
                let whole = Toy.compute(&C::Conv2d { config }, operands)?.remove(0);
                // A kernel without gaps has more windows; the first ones.
                let ([.., down, along], [.., rows, columns]) = (whole.shape(), right[0].shape())
                else {
                    return Ok(right);
                };
                let values = whole.read();
                let plane = |at: usize| (at / (rows * columns), at / columns % rows, at % columns);
                let at = |at: usize| {
                    let (plane, row, column) = plane(at);
                    values[(plane * down + row) * along + column]
                };
                let first: Vec<f32> = (0..right[0].len()).map(at).collect();
                Ok(vec![Plain::write(&first, right[0].dtype(), right[0].shape())])
            }
            (
                "leaves_results_channels_first",
                C::Conv2d { config: Conv2dConfig { layout, .. } }
                | C::MaxPool2d { config: MaxPool2dConfig { layout, .. } }
                | C::AvgPool2d { config: AvgPool2dConfig { layout, .. } },
                _,
            ) if *layout == ImageLayout::ChannelsLast => {
                let &[_, rows, columns, channels] = right[0].shape() else { return Ok(right) };
                let (values, pixels) = (right[0].read(), rows * columns);
                let last = |at: usize| {
                    let (pixel, plane) = (at % pixels, at / pixels);
                    values[(plane / channels * pixels + pixel) * channels + plane % channels]
                };
                let first: Vec<f32> = (0..values.len()).map(last).collect();
                Ok(vec![Plain::write(&first, right[0].dtype(), right[0].shape())])
            }
            (
                "reads_nan_as_zero_in_channels_last",
                C::Conv2d { config: Conv2dConfig { layout, .. } }
                | C::Conv2dBackward { config: Conv2dConfig { layout, .. }, .. }
                | C::MaxPool2d { config: MaxPool2dConfig { layout, .. } }
                | C::AvgPool2d { config: AvgPool2dConfig { layout, .. } }
                | C::AvgPool2dBackward { config: AvgPool2dConfig { layout, .. }, .. },
                _,
            ) if *layout == ImageLayout::ChannelsLast => {
                let zero = |x: f32| if x.is_nan() { 0.0 } else { x };
                let clean: Vec<_> = operands.iter().map(|operand| map(operand, zero)).collect();
                Toy.compute(op, &clean.iter().collect::<Vec<_>>())
            }
            _ => Ok(right),
        }
    }
}

caught! {
    fn gives_every_group_the_first_channels() by
        "conv2d/f32/a_group_reads_its_own_channels"
        "conv2d/f16/3x6x8x7_by_6x1x3x3_stride_2x2_padding_1x1_dilation_1x1_groups_6";
    fn forgets_dilation() by
        "conv2d/f16/elements_of_a_dilated_kernel_lie_apart" "conv2d/bf16/2x3x7x9_by_4x3x3x3_stride_1x1_padding_0x0_dilation_2x3_groups_1";
    fn counts_padding_always() by
        "avg_pool2d/f32/padding_counts_where_it_is_to_count" "avg_pool2d/bf16/random_2x3x5x6_by_3x2_stride_1x2_padding_1x1";
    fn shares_with_padding_always() by "avg_pool2d/f16/padding_counts_where_it_is_to_count";
    fn averages_in_f16() by_only "avg_pool2d/f16/a_sum_beyond_the_format_still_has_a_mean";
    fn leaves_results_channels_first() by
        "conv2d/f16/channels_last_are_channels_first_permuted"
        "max_pool2d/bf16/channels_last_are_channels_first_permuted"
        "avg_pool2d/f32/channels_last_are_channels_first_permuted";
    fn reads_nan_as_zero_in_channels_last() by
        "conv2d/bf16/channels_last_keep_nan_and_infinity_in_their_windows"
        "max_pool2d/f16/a_nan_is_larger_than_everything_and_the_first_wins"
        "avg_pool2d/f32/nan_and_infinity_stay_in_their_windows";
    fn slides_in_the_place_of_adapting() by
        "adaptive_avg_pool2d/f32/neighbouring_windows_share_an_element"
        "adaptive_avg_pool2d/f16/random_1x2x33x31_to_5x7";
}
