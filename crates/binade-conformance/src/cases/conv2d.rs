//! Two-dimensional convolution: strides, padding, kernels of every shape, and sums over the whole batch.
//!
//! The oracle is that of [`linear`] over all windows.

use super::linear::{self, linear};
use super::prelude::*;
use crate::OpInvocation::{Conv2d, Conv2dBackward};
use binade_core::ops::Conv2dConfig;

/// Input, weight, stride and padding.
type Size = ([usize; 4], [usize; 4], [usize; 2], [usize; 2]);

const SIZES: &str = "1x1x1x1:1x1x1x1:1x1:0x0 1x1x5x5:1x1x3x3:1x1:0x0 2x3x7x6:4x3x3x3:1x1:1x1 \
    3x2x9x8:5x2x2x3:2x3:2x1 2x2x6x7:3x2x1x2:3x2:0x3 1x8x8x8:8x8x3x3:1x1:1x1 2x3x17x15:4x3x3x3:1x1:1x1 \
    2x1x12x12:9x1x5x5:1x1:0x0 1x33x3x3:2x33x3x3:1x1:0x0 2x4x1x9:3x4x1x9:1x1:0x0 1x1x2x2:1x1x4x4:1x1:1x1 \
    5x3x4x4:2x3x1x1:2x2:0x0 0x2x4x4:3x2x3x3:1x1:0x0 2x0x4x4:3x0x3x3:1x1:0x0 2x2x4x4:0x2x2x2:1x1:0x0";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [input, weight, stride, padding] in sized(SIZES) {
            let [x, w, by, edge] = [&input, &weight, &stride, &padding].map(|shape| name(shape));
            let sentence = format!("{x}_by_{w}_stride_{by}_padding_{edge}");
            let four = |shape: &[usize]| [shape[0], shape[1], shape[2], shape[3]];
            let two = |extents: &[usize]| [extents[0], extents[1]];
            let size = (four(&input), four(&weight), two(&stride), two(&padding));
            cases.add(dtype, sentence, move |run| {
                both(run, dtype, size, true)?;
                both(run, dtype, size, false)
            });
        }
        let size = ([2, 3, 7, 6], [4, 3, 3, 3], [1, 1], [1, 1]);
        cases.starts(dtype, move |run, _, _| both(run, dtype, size, true));
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
            let (input, weight) = ([1, 1, 4, 4], [1, 1, 2, 2]);
            let layer = Layer { input, weight, config: Conv2dConfig::default() };
            for bad in NON_FINITE {
                let x = ones(dtype, &layer.input).with(5, bad);
                let w = uniform(1, dtype, &layer.weight, [0.5, 1.0]);
                let wanted = layer.forward(&values(&x), &values(&w), None);
                run.near(Conv2d { config: layer.config }, &[&x, &w], [(dtype, wanted)])?;
                let g = ones(dtype, &layer.output()).with(4, bad);
                let wanted = layer.backward(&values(&g), &values(&x), &values(&w));
                let op = Conv2dBackward { config: layer.config, bias: true };
                let wanted = wanted.into_iter().map(|wanted| (dtype, wanted));
                run.near(op, &[&g, &x, &w], wanted)?;
            }
            Ok(())
        });
    }
    let config = Conv2dConfig::default();
    let still = Conv2d { config: Conv2dConfig { stride: [0, 1], ..config } };
    let sentence = "a_stride_of_zero_is_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, [(still, "1x2x3x3 3x2x2x2")]);
    mismatches(
        cases,
        [
            (
                Conv2d { config },
                "1x2x3x3 3x1x2x2, 1x2x3x3 3x2x4x2, 1x2x3x3 3x2x2x2 2, 1x2x3x3 f16:3x2x2x2",
            ),
            (Conv2dBackward { config, bias: true }, "1x3x3x3 1x2x3x3 3x2x2x2"),
        ],
    );
    let hostile = [[HUGE, 1], [1, HUGE], [HUGE, HUGE], [1 << 30, 1 << 30]];
    let padded = |padding| Conv2d { config: Conv2dConfig { padding, ..config } };
    too_large(cases, hostile.map(|padding| (padded(padding), "1x1x2x2 1x1x2x2")));
}

/// The result, and the gradients of input, weight and perhaps bias.
fn both(
    run: &mut OpRun<'_>,
    dtype: DType,
    (input, weight, stride, padding): Size,
    bias: bool,
) -> Verdict {
    let config = Conv2dConfig { stride, padding };
    let layer = Layer { input, weight, config };
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w, b) = (of(1, &input), of(2, &weight), of(3, &weight[..1]));
    let g = of(4, &layer.output());
    let bv = values(&b);
    let wanted = layer.forward(&values(&x), &values(&w), bias.then_some(&bv));
    let operands = [&x, &w, &b];
    run.near(Conv2d { config }, &operands[..2 + usize::from(bias)], [(dtype, wanted)])?;
    let wanted = layer.backward(&values(&g), &values(&x), &values(&w));
    let wanted = wanted.into_iter().take(2 + usize::from(bias)).map(|wanted| (dtype, wanted));
    run.near(Conv2dBackward { config, bias }, &[&g, &x, &w], wanted)
}

// The oracle.

/// One convolution: `[N, C, H, W]` by `[O, C, KH, KW]`.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// N, C, H and W.
    input: [usize; 4],
    /// O, C, KH and KW.
    weight: [usize; 4],
    /// Stride and padding of the kernel.
    config: Conv2dConfig,
}

/// The place in an input of `[N, C, H, W]` of each tap of each window, one window after the other; nothing in the padding.
pub(super) fn taps(
    [n, channels, height, width]: [usize; 4],
    [kh, kw]: [usize; 2],
    [stride, padding]: [[usize; 2]; 2],
) -> Vec<Option<usize>> {
    let [rows, columns] = extents([height, width], [kh, kw], [stride, padding]);
    let inside = |window: usize, tap: usize, axis: usize, extent: usize| {
        (window * stride[axis] + tap).checked_sub(padding[axis]).filter(|at| *at < extent)
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
        let Conv2dConfig { stride, padding } = self.config;
        let ([n, _, height, width], [outputs, _, kh, kw]) = (self.input, self.weight);
        let [rows, columns] = extents([height, width], [kh, kw], [stride, padding]);
        [n, outputs, rows, columns]
    }

    /// Returns the [`taps`] of this layer.
    fn taps(&self) -> Vec<Option<usize>> {
        let Conv2dConfig { stride, padding } = self.config;
        taps(self.input, [self.weight[2], self.weight[3]], [stride, padding])
    }

    /// The linear layer over all windows: its input with zeros in the padding, its size, and the place of each of its results.
    fn layer(&self, x: &[f64]) -> (Vec<f64>, [usize; 3], Vec<usize>) {
        let [n, outputs, rows, columns] = self.output();
        let area = rows * columns;
        let place = |at: usize, o: usize| (at / area * outputs + o) * area + at % area;
        let places = (0..n * area).flat_map(|at| (0..outputs).map(move |o| place(at, o)));
        let windows = self.taps().into_iter().map(|at| at.map_or(0.0, |at| x[at]));
        (
            windows.collect(),
            [n * area, self.weight[1..].iter().product(), outputs],
            places.collect(),
        )
    }

    fn forward(&self, x: &[f64], w: &[f64], bias: Option<&[f64]>) -> Vec<Expected> {
        let (windows, size, places) = self.layer(x);
        let sums = linear(&windows, w, bias, size);
        let mut result = sums.clone();
        places.into_iter().zip(sums).for_each(|(at, sum)| result[at] = sum);
        result
    }

    /// Gradients of input, weight and bias.
    fn backward(&self, grad: &[f64], x: &[f64], w: &[f64]) -> [Vec<Expected>; 3] {
        let (windows, size, places) = self.layer(x);
        let grad: Vec<f64> = places.into_iter().map(|at| grad[at]).collect();
        let [windows, weight, bias] = linear::backward(&grad, &windows, w, size);
        let mut input = vec![(Expected::exactly(0.0), 0.0); x.len()];
        for (at, part) in self.taps().into_iter().zip(windows) {
            let Some((sum, terms)) = at.map(|at| &mut input[at]) else { continue };
            (sum.value, sum.products) = (sum.value + part.value, sum.products + part.products);
            *terms += count(size[2]);
        }
        let sum = |(sum, terms): (Expected, f64)| Expected { mass: terms * sum.products, ..sum };
        [input.into_iter().map(sum).collect(), weight, bias]
    }
}
