//! Mean of each window: padding that counts or not, overlap, and sums beyond the format.
//!
//! The oracle is a loop over each window.

use super::conv2d::{LAYOUTS, extents, laid_out, ordered};
use super::prelude::*;
use crate::OpInvocation::{AvgPool2d, AvgPool2dBackward};
use binade_core::ops::{AvgPool2dConfig, ImageLayout};

/// Input, window, stride and padding.
const SIZES: &str = "1x1x1x1:1x1:1x1:0x0 1x1x4x4:2x2:2x2:0x0 2x3x5x6:3x2:1x2:1x1 1x2x8x8:2x2:1x1:0x0 \
    2x3x9x8:2x2:2x2:0x0 1x2x8x33:3x3:2x2:1x1 3x1x7x7:7x7:1x1:0x0 1x9x3x31:1x4:1x3:0x2 2x2x5x5:2x2:3x3:0x0 \
    0x3x4x4:2x2:2x2:0x0 2x0x4x4:2x2:2x2:0x0 1x1x33x40:33x40:1x1:0x0 2x3x7x6:5x5:2x1:2x2";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [input, kernel, stride, padding] in sized(SIZES) {
            let [x, window, by, edge] = [&input, &kernel, &stride, &padding].map(|it| name(it));
            let sentence = format!("random_{x}_by_{window}_stride_{by}_padding_{edge}");
            let [kernel, stride, padding] = [kernel, stride, padding].map(|it| [it[0], it[1]]);
            cases.add(dtype, sentence, move |run| {
                [true, false].into_iter().try_for_each(|count_include_pad| {
                    let config = AvgPool2dConfig {
                        kernel,
                        stride,
                        padding,
                        count_include_pad,
                        ..AvgPool2dConfig::square(1)
                    };
                    both(run, &uniform(1, dtype, &input, [-2.0, 1.0]), config)
                })
            });
        }
        cases.starts(dtype, move |run, _, _| {
            let x = uniform(1, dtype, &[2, 3, 30, 24], [-2.0, 2.0]);
            both(run, &x, AvgPool2dConfig::square(2))
        });
        cases.add(dtype, "channels_last_are_channels_first_permuted", move |run| {
            let x = uniform(1, dtype, &[2, 3, 5, 6], [-2.0, 1.0]);
            let (kernel, stride, padding) = ([3, 2], [1, 2], [1, 1]);
            let (count_include_pad, layout) = (false, ImageLayout::ChannelsLast);
            both(run, &x, AvgPool2dConfig { kernel, stride, padding, count_include_pad, layout })
        });
        cases.add(dtype, "padding_counts_where_it_is_to_count", move |run| {
            let x = ones(dtype, &[1, 1, 2, 2]);
            [(true, 0.25), (false, 1.0)].into_iter().try_for_each(|(count_include_pad, mean)| {
                let padding = [1, 1];
                let config =
                    AvgPool2dConfig { padding, count_include_pad, ..AvgPool2dConfig::square(2) };
                run.exact(AvgPool2d { config }, &[&x], [(dtype, vec![mean; 4])])?;
                let op = AvgPool2dBackward { shape: x.shape.clone(), config };
                run.exact(op, &[&x], [(dtype, vec![mean; 4])])
            })
        });
        cases.add(dtype, "a_sum_beyond_the_format_still_has_a_mean", move |run| {
            let x = Stored::from_values(dtype, &[1, 1, 4, 4], [57344.0; 16]);
            let config = AvgPool2dConfig::square(4);
            run.exact(AvgPool2d { config }, &[&x], [(dtype, vec![57344.0])])
        });
        cases.add(dtype, "gradients_of_windows_that_overlap_add_up_in_f32", move |run| {
            // The middle element is in all four windows. No sixteen-bit format can add the four shares step by step.
            let config = AvgPool2dConfig { stride: [1, 1], ..AvgPool2dConfig::square(2) };
            let g = Stored::from_values(dtype, &[1, 1, 2, 2], [8192.0, 4.0, 4.0, 4.0]);
            let wanted = vec![2048.0, 2049.0, 1.0, 2049.0, 2051.0, 2.0, 1.0, 2.0, 1.0];
            let op = AvgPool2dBackward { shape: vec![1, 1, 3, 3], config };
            run.exact(op, &[&g], [(dtype, wanted)])
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_windows", move |run| {
            LAYOUTS.into_iter().try_for_each(|layout| {
                let config =
                    AvgPool2dConfig { stride: [1, 1], layout, ..AvgPool2dConfig::square(2) };
                NON_FINITE.into_iter().try_for_each(|bad| {
                    let x = ones(dtype, &[1, 2, 4, 4]).with(5, bad);
                    let g = ones(dtype, &output(&x.shape, config)).with(4, bad);
                    compare(run, &g, &x, config)
                })
            })
        });
    }
    let pool = |kernel, stride, padding| {
        let config = AvgPool2dConfig { kernel, stride, padding, ..AvgPool2dConfig::square(1) };
        (AvgPool2d { config }, "1x1x4x4")
    };
    let sentence = "a_window_or_stride_of_zero_or_too_much_padding_is_an_invalid_argument";
    let outside = [
        pool([0, 2], [1, 1], [0, 0]),
        pool([2, 2], [1, 0], [0, 0]),
        pool([2, 2], [1, 1], [2, 0]),
        pool([HUGE; 2], [1, 1], [HUGE / 2; 2]),
    ];
    refusals(cases, sentence, ErrorKind::InvalidArgument, outside);
    let config = AvgPool2dConfig::square(2);
    let op = AvgPool2dBackward { shape: vec![1, 1, 4, 4], config };
    mismatches(
        cases,
        [pool([5, 2], [1, 1], [0, 0]), (AvgPool2d { config }, "4x4, i64:1x1x4x4"), (op, "1x1x4x4")],
    );
    let op = AvgPool2dBackward { shape: vec![HUGE, 0, HUGE, HUGE], config };
    too_large(cases, [(op, "1x1x2x2")]);
}

/// Compares forward and backward on random gradients, for images `[N, C, H, W]` in the configuration's layout.
fn both(run: &mut OpRun<'_>, x: &Stored, config: AvgPool2dConfig) -> Verdict {
    compare(run, &uniform(2, x.dtype, &output(&x.shape, config), [-1.0, 1.0]), x, config)
}

fn compare(run: &mut OpRun<'_>, g: &Stored, x: &Stored, config: AvgPool2dConfig) -> Verdict {
    let (windows, order) = (windows_of(x, config), config.layout);
    let wanted = ordered(means(&values(x), &windows), output(&x.shape, config), order);
    run.near(AvgPool2d { config }, &[&laid_out(x, order)], [(x.dtype, wanted)])?;
    backward(run, g, &x.shape, &windows, order, |shape| AvgPool2dBackward { shape, config })
}

// The oracle.

/// Elements of a window, by index, and the number that their sum is divided by.
pub(super) type Window = (Vec<usize>, f64);

/// `[N, C, H', W']`.
fn output(shape: &[usize], config: AvgPool2dConfig) -> [usize; 4] {
    let AvgPool2dConfig { kernel, stride, padding, .. } = config;
    let [rows, columns] = extents([shape[2], shape[3]], kernel, [stride, padding]);
    [shape[0], shape[1], rows, columns]
}

/// Each window of the images, in row-major order.
fn windows_of(x: &Stored, config: AvgPool2dConfig) -> Vec<Window> {
    let AvgPool2dConfig { kernel, stride, padding, count_include_pad, .. } = config;
    let shape = output(&x.shape, config);
    let window = |row: usize, column: usize| {
        let first = [row * stride[0], column * stride[1]];
        let mut inside = Vec::new();
        for y in first[0]..first[0] + kernel[0] {
            for x_ in first[1]..first[1] + kernel[1] {
                let at = [y.checked_sub(padding[0]), x_.checked_sub(padding[1])];
                if let [Some(y), Some(x_)] = at
                    && y < x.shape[2]
                    && x_ < x.shape[3]
                {
                    inside.push(y * x.shape[3] + x_);
                }
            }
        }
        let all = if count_include_pad { kernel[0] * kernel[1] } else { inside.len() };
        (inside, count(all))
    };
    by_plane(&x.shape, &shape, window)
}

/// Returns the windows of all planes, given the elements of one plane's windows.
pub(super) fn by_plane(
    image: &[usize],
    result: &[usize],
    window: impl Fn(usize, usize) -> Window,
) -> Vec<Window> {
    let planes = (0..image[0] * image[1]).map(|plane| plane * image[2] * image[3]);
    let at = |i: usize| window(i / result[3], i % result[3]);
    let of_plane = |first: usize| (0..result[2] * result[3]).map(move |i| (first, i));
    planes
        .flat_map(of_plane)
        .map(|(first, i)| {
            let (inside, divisor) = at(i);
            (inside.into_iter().map(|pixel| first + pixel).collect(), divisor)
        })
        .collect()
}

/// The mean of each window.
pub(super) fn means(x: &[f64], windows: &[Window]) -> Vec<Expected> {
    let mean = |(inside, divisor): &Window| {
        let sum = |f: fn(f64) -> f64| inside.iter().map(|at| f(x[*at])).sum::<f64>() / divisor;
        // One rounding for each addition, and those of the division.
        Expected::near(sum(|x| x), (count(inside.len()) + 4.0) * sum(f64::abs))
    };
    windows.iter().map(mean).collect()
}

/// Compares the gradient of images `[N, C, H, W]` of this shape in an order of their axes: each window's gradient, shared among its elements.
pub(super) fn backward(
    run: &mut OpRun<'_>,
    grad: &Stored,
    shape: &[usize],
    windows: &[Window],
    order: ImageLayout,
    op: impl Fn(Vec<usize>) -> OpInvocation,
) -> Verdict {
    let mut sums = vec![[0.0_f64; 3]; shape.iter().product()];
    for (g, (inside, divisor)) in values(grad).iter().zip(windows) {
        for at in inside {
            let [value, mass, terms] = sums[*at];
            sums[*at] = [value + g / divisor, mass + (g / divisor).abs(), terms + 1.0];
        }
    }
    // One rounding for each addition, and those of each term's division.
    let wanted = |[value, mass, terms]: [f64; 3]| Expected::near(value, (terms + 4.0) * mass);
    let extents = [shape[0], shape[1], shape[2], shape[3]];
    let wanted = ordered(sums.into_iter().map(wanted).collect(), extents, order);
    let op = op(order.shape(extents).to_vec());
    run.near(op, &[&laid_out(grad, order)], [(grad.dtype, wanted)])
}
