//! Two-dimensional convolution: strides, padding, dilation, groups, kernels of every shape, and sums over the whole batch.
//!
//! The oracle is that of [`linear`] over all windows.

use super::linear::{self, linear};
use super::prelude::*;
use crate::OpInvocation::{Conv2d, Conv2dBackward};
use binade_core::ops::{Conv2dConfig, ImageLayout};

const SIZES: &str = "1x1x1x1:1x1x1x1:1x1:0x0 1x1x5x5:1x1x3x3:1x1:0x0 2x3x7x6:4x3x3x3:1x1:1x1 \
    3x2x9x8:5x2x2x3:2x3:2x1 2x2x6x7:3x2x1x2:3x2:0x3 1x8x8x8:8x8x3x3:1x1:1x1 2x3x17x15:4x3x3x3:1x1:1x1 \
    2x1x12x12:9x1x5x5:1x1:0x0 1x33x3x3:2x33x3x3:1x1:0x0 2x4x1x9:3x4x1x9:1x1:0x0 1x1x2x2:1x1x4x4:1x1:1x1 \
    5x3x4x4:2x3x1x1:2x2:0x0 0x2x4x4:3x2x3x3:1x1:0x0 2x0x4x4:3x0x3x3:1x1:0x0 2x2x4x4:0x2x2x2:1x1:0x0";

/// Sizes, stride and padding, followed by dilation and groups: kernels with gaps, and channels in groups.
const APART: &str = "2x3x7x9:4x3x3x3:1x1:0x0:2x3:1 2x2x9x8:3x2x2x3:2x1:2x3:3x2:1 2x4x5x6:6x2x3x3:1x1:1x1:1x1:2 \
    3x6x8x7:6x1x3x3:2x2:1x1:1x1:6 2x3x5x5:9x1x2x2:1x1:0x0:1x1:3 2x8x4x6:8x2x1x1:1x1:0x0:1x1:4 1x4x9x9:8x2x3x2:2x1:2x1:2x3:2 \
    5x16x3x4:16x1x3x3:1x1:1x1:1x1:16 2x33x5x3:66x11x3x1:1x2:1x0:1x1:3 0x4x4x4:2x2x2x2:1x1:0x0:1x1:2 2x4x5x5:0x2x2x2:1x1:0x0:1x1:2";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [input, weight, stride, padding] in sized(SIZES) {
            let [x, w, by, edge] = [&input, &weight, &stride, &padding].map(|shape| name(shape));
            let sentence = format!("{x}_by_{w}_stride_{by}_padding_{edge}");
            let config = Conv2dConfig {
                stride: two(&stride),
                padding: two(&padding),
                ..Conv2dConfig::default()
            };
            let layer = Layer { input: four(&input), weight: four(&weight), config };
            cases.add(dtype, sentence, move |run| {
                both(run, dtype, layer, true)?;
                both(run, dtype, layer, false)
            });
        }
        for [input, weight, stride, padding, dilation, groups] in sized(APART) {
            let [x, w, by, edge, apart] =
                [&input, &weight, &stride, &padding, &dilation].map(|shape| name(shape));
            let groups = groups[0];
            let sentence =
                format!("{x}_by_{w}_stride_{by}_padding_{edge}_dilation_{apart}_groups_{groups}");
            let [stride, padding, dilation] = [&stride, &padding, &dilation].map(|it| two(it));
            let config =
                Conv2dConfig { stride, padding, dilation, groups, ..Conv2dConfig::default() };
            let layer = Layer { input: four(&input), weight: four(&weight), config };
            cases.add(dtype, sentence, move |run| {
                both(run, dtype, layer, true)?;
                both(run, dtype, layer, false)
            });
        }
        let config = Conv2dConfig { padding: [1, 1], ..Conv2dConfig::default() };
        let layer = Layer { input: [2, 3, 7, 6], weight: [4, 3, 3, 3], config };
        let config = Conv2dConfig { groups: 2, dilation: [2, 2], ..config };
        let grouped = Layer { input: [2, 4, 7, 6], weight: [4, 2, 3, 3], config };
        cases.starts(dtype, move |run, _, _| {
            both(run, dtype, layer, true)?;
            both(run, dtype, grouped, true)
        });
        add_channels_last(cases, dtype);
        cases.add(dtype, "a_group_reads_its_own_channels", move |run| {
            let x = Stored::from_values(dtype, &[1, 2, 1, 3], [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
            let w = Stored::from_values(dtype, &[2, 1, 1, 2], [1.0, 2.0, 1.0, -1.0]);
            let op = Conv2d { config: Conv2dConfig { groups: 2, ..Conv2dConfig::default() } };
            run.exact(op, &[&x, &w], [(dtype, vec![5.0, 8.0, -10.0, -10.0])])
        });
        cases.add(dtype, "elements_of_a_dilated_kernel_lie_apart", move |run| {
            let x = Stored::from_values(dtype, &[1, 1, 1, 5], [1.0, 2.0, 3.0, 4.0, 5.0]);
            let w = Stored::from_values(dtype, &[1, 1, 1, 2], [1.0, 10.0]);
            let op =
                Conv2d { config: Conv2dConfig { dilation: [7, 3], ..Conv2dConfig::default() } };
            run.exact(op, &[&x, &w], [(dtype, vec![41.0, 52.0])])
        });
        cases.add(dtype, "the_kernel_is_not_flipped", move |run| {
            let x = Stored::from_values(dtype, &[1, 1, 2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            let w = Stored::from_values(dtype, &[1, 1, 2, 2], [1.0, 10.0, 100.0, 0.0]);
            let op = Conv2d { config: Conv2dConfig::default() };
            run.exact(op, &[&x, &w], [(dtype, vec![421.0, 532.0])])
        });
        cases.add(dtype, "4096_products_of_one_add_up", move |run| {
            let (x, w) = (ones(dtype, &[1, 64, 8, 8]), ones(dtype, &[2, 64, 8, 8]));
            let b = Stored::vector(dtype, [2.0, 32.0]);
            let op = Conv2d { config: Conv2dConfig::default() };
            run.exact(op, &[&x, &w, &b], [(dtype, vec![4098.0, 4128.0])])
        });
        let sentence = "the_gradient_of_the_weight_is_summed_wide_over_the_batch";
        cases.add(dtype, sentence, move |run| {
            let (x, w) = (ones(dtype, &[17, 1, 16, 16]), ones(dtype, &[1, 1, 1, 1]));
            let g = ones(dtype, &[17, 1, 16, 16]);
            let op = Conv2dBackward { config: Conv2dConfig::default(), bias: true };
            let wanted = [values(&x), vec![4352.0], vec![4352.0]];
            run.exact(op, &[&g, &x, &w], wanted.map(|wanted| (dtype, wanted)))
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_windows", move |run| {
            non_finite(run, dtype, ImageLayout::ChannelsFirst)
        });
    }
    add_refusals(cases);
}

/// Compares convolutions of an image and of a gradient that have one element which is not finite.
fn non_finite(run: &mut OpRun<'_>, dtype: DType, layout: ImageLayout) -> Verdict {
    let (input, weight) = ([1, 2, 4, 4], [2, 2, 2, 2]);
    let config = Conv2dConfig { layout, ..Conv2dConfig::default() };
    let layer = Layer { input, weight, config };
    let w = uniform(1, dtype, &weight, [0.5, 1.0]);
    NON_FINITE.into_iter().try_for_each(|bad| {
        let x = ones(dtype, &input).with(5, bad);
        let g = ones(dtype, &layer.output()).with(4, bad);
        compare(run, layer, [&g, &x, &w], None)
    })
}

/// Adds cases of images with the channels last, compared with the oracle's, which has the channels first.
fn add_channels_last(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "channels_last_keep_nan_and_infinity_in_their_windows", move |run| {
        non_finite(run, dtype, ImageLayout::ChannelsLast)
    });
    cases.add(dtype, "channels_last_are_channels_first_permuted", move |run| {
        let layout = ImageLayout::ChannelsLast;
        let (stride, padding) = ([2, 1], [1, 0]);
        let plain = Conv2dConfig { stride, padding, layout, ..Conv2dConfig::default() };
        let (dilation, groups) = ([1, 2], 2);
        let grouped = Conv2dConfig { dilation, groups, ..plain };
        let pixels = Conv2dConfig { layout, ..Conv2dConfig::default() };
        for (input, weight, config) in [
            ([2, 3, 7, 6], [4, 3, 3, 2], plain),
            ([2, 4, 5, 6], [6, 2, 3, 2], grouped),
            ([2, 6, 3, 5], [4, 3, 1, 1], Conv2dConfig { groups: 2, ..pixels }),
            ([2, 9, 3, 5], [4, 9, 1, 1], pixels),
            ([1, 0, 3, 3], [2, 0, 2, 2], plain),
            // Rows of more elements than a GPU reads at once.
            ([1, 72, 3, 40], [2, 72, 3, 3], Conv2dConfig { padding: [1, 1], ..pixels }),
        ] {
            let layer = Layer { input, weight, config };
            both(run, dtype, layer, true)?;
            both(run, dtype, layer, false)?;
        }
        Ok(())
    });
}

/// Adds cases of operands and configurations that do not fit.
fn add_refusals(cases: &mut OpCases) {
    let config = Conv2dConfig::default();
    let none = [
        Conv2dConfig { stride: [0, 1], ..config },
        Conv2dConfig { dilation: [1, 0], ..config },
        Conv2dConfig { groups: 0, ..config },
    ];
    let none = none.map(|config| (Conv2d { config }, "1x2x3x3 3x2x2x2"));
    let sentence = "a_stride_a_dilation_or_groups_of_zero_are_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, none);
    let apart = Conv2d { config: Conv2dConfig { dilation: [3, 3], ..config } };
    let grouped = Conv2d { config: Conv2dConfig { groups: 2, ..config } };
    mismatches(
        cases,
        [
            (
                Conv2d { config },
                "1x2x3x3 3x1x2x2, 1x2x3x3 3x2x4x2, 1x2x3x3 3x2x2x2 2, 1x2x3x3 f16:3x2x2x2",
            ),
            (apart, "1x2x3x3 3x2x2x2"),
            (grouped, "1x2x3x3 4x2x2x2, 1x2x3x3 3x1x2x2, 1x3x3x3 4x1x2x2"),
            (Conv2dBackward { config, bias: true }, "1x3x3x3 1x2x3x3 3x2x2x2"),
        ],
    );
    let hostile = [[HUGE, 1], [1, HUGE], [HUGE, HUGE], [1 << 30, 1 << 30]];
    let padded = |padding| Conv2d { config: Conv2dConfig { padding, ..config } };
    too_large(cases, hostile.map(|padding| (padded(padding), "1x1x2x2 1x1x2x2")));
}

fn four(shape: &[usize]) -> [usize; 4] {
    [shape[0], shape[1], shape[2], shape[3]]
}

fn two(extents: &[usize]) -> [usize; 2] {
    [extents[0], extents[1]]
}

/// Compares the result, and the gradients of input, weight and perhaps bias.
fn both(run: &mut OpRun<'_>, dtype: DType, layer: Layer, bias: bool) -> Verdict {
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w, b) = (of(1, &layer.input), of(2, &layer.weight), of(3, &layer.weight[..1]));
    compare(run, layer, [&of(4, &layer.output()), &x, &w], bias.then_some(&b))
}

/// Compares forward and backward on these operands, with images `[N, C, H, W]`, in the configuration's layout.
fn compare(
    run: &mut OpRun<'_>,
    layer: Layer,
    [g, x, w]: [&Stored; 3],
    bias: Option<&Stored>,
) -> Verdict {
    let (Layer { input, config, .. }, dtype, order) = (layer, x.dtype, layer.config.layout);
    let wanted = layer.forward(&values(x), &values(w), bias.map(values).as_deref());
    let [wanted_input, others @ ..] = layer.backward(&values(g), &values(x), &values(w));
    let (x, g) = (laid_out(x, order), laid_out(g, order));
    let wanted = ordered(wanted, layer.output(), order);
    let operands = [&[&x, w][..], bias.as_slice()].concat();
    run.near(Conv2d { config }, &operands, [(dtype, wanted)])?;
    let wanted = std::iter::once(ordered(wanted_input, input, order)).chain(others);
    let bias = bias.is_some();
    let wanted = wanted.take(2 + usize::from(bias)).map(|wanted| (dtype, wanted));
    run.near(Conv2dBackward { config, bias }, &[&g, &x, w], wanted)
}

/// Orders of the axes of images.
pub(super) const LAYOUTS: [ImageLayout; 2] =
    [ImageLayout::ChannelsFirst, ImageLayout::ChannelsLast];

/// Returns images `[N, C, H, W]` in another order of their axes.
pub(super) fn laid_out(images: &Stored, order: ImageLayout) -> Stored {
    let extents = four(&images.shape);
    let values = ordered(values(images), extents, order);
    Stored::from_values(images.dtype, &order.shape(extents), values)
}

/// Returns the values of the elements of `[N, C, H, W]` in another order of the axes.
pub(super) fn ordered<T: Copy>(
    all: Vec<T>,
    [n, c, h, w]: [usize; 4],
    order: ImageLayout,
) -> Vec<T> {
    if order == ImageLayout::ChannelsFirst {
        return all;
    }
    let place = |at: usize| {
        let (channel, pixel) = (at % c, at / c);
        (pixel / (h * w) * c + channel) * h * w + pixel % (h * w)
    };
    (0..n * h * w * c).map(|at| all[place(at)]).collect()
}

// The oracle.

/// One convolution: `[N, C, H, W]` by `[O, C / groups, KH, KW]`.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// N, C, H and W.
    input: [usize; 4],
    /// O, C / groups, KH and KW.
    weight: [usize; 4],
    /// Stride, padding, dilation and groups.
    config: Conv2dConfig,
}

/// Returns the index in an input of `[N, C, H, W]` of each tap of each window, window by window; `None` in the padding.
pub(super) fn taps(
    [n, channels, height, width]: [usize; 4],
    [kh, kw]: [usize; 2],
    [stride, padding, dilation]: [[usize; 2]; 3],
) -> Vec<Option<usize>> {
    let long = [(kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1];
    let [rows, columns] = extents([height, width], long, [stride, padding]);
    let inside = |window: usize, tap: usize, axis: usize, extent: usize| {
        let at = window * stride[axis] + tap * dilation[axis];
        at.checked_sub(padding[axis]).filter(|at| *at < extent)
    };
    let area = channels * kh * kw;
    let tap = |at: usize| {
        let (window, tap) = (at / area, at % area);
        let (column, row, image) =
            (window % columns, window / columns % rows, window / (columns * rows));
        let y = inside(row, tap / kw % kh, 0, height)?;
        let x = inside(column, tap % kw, 1, width)?;
        Some(((image * channels + tap / (kw * kh)) * height + y) * width + x)
    };
    (0..n * rows * columns * area).map(tap).collect()
}

/// `H' = (H + 2·padding − KH) / stride + 1`, rounded down, and `W'`.
pub(super) fn extents(
    input: [usize; 2],
    kernel: [usize; 2],
    [stride, padding]: [[usize; 2]; 2],
) -> [usize; 2] {
    [0, 1].map(|axis| (input[axis] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1)
}

impl Layer {
    /// `[N, O, H', W']`.
    fn output(&self) -> [usize; 4] {
        let Conv2dConfig { stride, padding, dilation, .. } = self.config;
        let ([n, _, height, width], [outputs, _, kh, kw]) = (self.input, self.weight);
        let long = [(kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1];
        let [rows, columns] = extents([height, width], long, [stride, padding]);
        [n, outputs, rows, columns]
    }

    /// Returns the [`taps`] of this layer's windows in the channels of one group.
    fn taps(&self, group: usize) -> Vec<Option<usize>> {
        let Conv2dConfig { stride, padding, dilation, .. } = self.config;
        let ([n, channels, height, width], [_, of_group, kh, kw]) = (self.input, self.weight);
        let all = taps([n, of_group, height, width], [kh, kw], [stride, padding, dilation]);
        // Converts an index within the group's channels to one within all channels.
        let plane = height * width;
        let moved = |at: usize| {
            let (image, rest) = (at / (of_group * plane), at % (of_group * plane));
            (image * channels + group * of_group) * plane + rest
        };
        all.into_iter().map(|at| at.map(moved)).collect()
    }

    /// Returns the linear layer of one group over all windows: its input with zeros in the padding, its size, and the positions of its results,
    /// weight and bias.
    fn layer(&self, x: &[f64], group: usize) -> Linear {
        let [n, outputs, rows, columns] = self.output();
        let (area, of_group) = (rows * columns, outputs / self.config.groups);
        let own = group * of_group..(group + 1) * of_group;
        let place = |at: usize, o: usize| (at / area * outputs + o) * area + at % area;
        let places = (0..n * area).flat_map(|at| own.clone().map(move |o| place(at, o)));
        let windows = self.taps(group).into_iter().map(|at| at.map_or(0.0, |at| x[at]));
        let taps: usize = self.weight[1..].iter().product();
        Linear {
            windows: windows.collect(),
            size: [n * area, taps, of_group],
            places: places.collect(),
            weight: own.start * taps..own.end * taps,
            bias: own,
        }
    }

    fn groups(&self, x: &[f64]) -> Vec<Linear> {
        (0..self.config.groups).map(|group| self.layer(x, group)).collect()
    }

    fn forward(&self, x: &[f64], w: &[f64], bias: Option<&[f64]>) -> Vec<Expected> {
        let mut result = vec![Expected::exactly(0.0); self.output().iter().product()];
        for Linear { windows, size, places, weight, bias: own } in self.groups(x) {
            let sums = linear(&windows, &w[weight], bias.map(|bias| &bias[own]), size);
            places.into_iter().zip(sums).for_each(|(at, sum)| result[at] = sum);
        }
        result
    }

    /// Gradients of input, weight and bias.
    fn backward(&self, grad: &[f64], x: &[f64], w: &[f64]) -> [Vec<Expected>; 3] {
        let mut input = vec![(Expected::exactly(0.0), 0.0); x.len()];
        let (mut of_weight, mut of_bias) = (Vec::new(), Vec::new());
        for (group, Linear { windows, size, places, weight, .. }) in
            self.groups(x).into_iter().enumerate()
        {
            let grad: Vec<f64> = places.into_iter().map(|at| grad[at]).collect();
            let [windows, weight, bias] = linear::backward(&grad, &windows, &w[weight], size);
            of_weight.extend(weight);
            of_bias.extend(bias);
            for (at, part) in self.taps(group).into_iter().zip(windows) {
                let Some((sum, terms)) = at.map(|at| &mut input[at]) else { continue };
                (sum.value, sum.products) = (sum.value + part.value, sum.products + part.products);
                *terms += count(size[2]);
            }
        }
        let sum = |(sum, terms): (Expected, f64)| Expected { mass: terms * sum.products, ..sum };
        [input.into_iter().map(sum).collect(), of_weight, of_bias]
    }
}

/// A group's linear layer over all windows.
struct Linear {
    windows: Vec<f64>,
    /// Rows, taps and outputs.
    size: [usize; 3],
    /// Place of each result.
    places: Vec<usize>,
    weight: std::ops::Range<usize>,
    bias: std::ops::Range<usize>,
}
