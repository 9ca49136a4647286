//! Two-dimensional convolution: strides, padding, kernels of every shape, and sums over the whole batch.
//!
//! The oracle is a cross-correlation, by loops over windows and taps.

use super::prelude::*;
use super::sum::sum;
use crate::OpInvocation::{Conv2d, Conv2dBackward};
use binade_ops::Conv2dConfig;

/// Input, weight, stride and padding.
type Size = ([usize; 4], [usize; 4], [usize; 2], [usize; 2]);

const SIZES: [Size; 15] = [
    ([1, 1, 1, 1], [1, 1, 1, 1], [1, 1], [0, 0]),
    ([1, 1, 5, 5], [1, 1, 3, 3], [1, 1], [0, 0]),
    ([2, 3, 7, 6], [4, 3, 3, 3], [1, 1], [1, 1]),
    ([3, 2, 9, 8], [5, 2, 2, 3], [2, 3], [2, 1]),
    ([2, 2, 6, 7], [3, 2, 1, 2], [3, 2], [0, 3]),
    ([1, 8, 8, 8], [8, 8, 3, 3], [1, 1], [1, 1]),
    ([2, 3, 17, 15], [4, 3, 3, 3], [1, 1], [1, 1]),
    ([2, 1, 12, 12], [9, 1, 5, 5], [1, 1], [0, 0]),
    ([1, 33, 3, 3], [2, 33, 3, 3], [1, 1], [0, 0]),
    ([2, 4, 1, 9], [3, 4, 1, 9], [1, 1], [0, 0]),
    ([1, 1, 2, 2], [1, 1, 4, 4], [1, 1], [1, 1]),
    ([5, 3, 4, 4], [2, 3, 1, 1], [2, 2], [0, 0]),
    ([0, 2, 4, 4], [3, 2, 3, 3], [1, 1], [0, 0]),
    ([2, 0, 4, 4], [3, 0, 3, 3], [1, 1], [0, 0]),
    ([2, 2, 4, 4], [0, 2, 2, 2], [1, 1], [0, 0]),
];

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for size in SIZES {
            let (input, weight, stride, padding) = size;
            let sentence = format!(
                "{}_by_{}_stride_{}_padding_{}",
                name(&input),
                name(&weight),
                name(&stride),
                name(&padding)
            );
            cases.add(dtype, sentence, move |run| {
                both(run, dtype, size, true)?;
                both(run, dtype, size, false)
            });
        }
        cases.starts(dtype, move |run, _, _| both(run, dtype, SIZES[2], true));
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
            (Conv2d { config }, "1x2x3x3 3x1x2x2"),
            (Conv2d { config }, "1x2x3x3 3x2x4x2"),
            (Conv2d { config }, "1x2x3x3 3x2x2x2 2"),
            (Conv2d { config }, "1x2x3x3 f16:3x2x2x2"),
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

/// Agreement: as matrix products of this arithmetic do.
pub(super) const AGREEMENT: Agrees = Agreement::of_matrix_products;

// The oracle.

/// One convolution: `[N, C, H, W]` by `[O, C, KH, KW]`.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// N, C, H and W.
    input: [usize; 4],
    /// O, C, KH and KW.
    weight: [usize; 4],
    /// How the kernel moves.
    config: Conv2dConfig,
}

impl Layer {
    /// `[N, O, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down.
    fn output(&self) -> [usize; 4] {
        let Conv2dConfig { stride, padding } = self.config;
        let along = |axis: usize| {
            let padded = self.input[2 + axis] + 2 * padding[axis];
            (padded - self.weight[2 + axis]) / stride[axis] + 1
        };
        [self.input[0], self.weight[0], along(0), along(1)]
    }

    /// Calls `visit(result, input, weight)` with the places of each product that does not lie in the padding.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let ([_, channels, height, width], [outputs, _, kh, kw]) = (self.input, self.weight);
        let [n, _, rows, columns] = self.output();
        let Conv2dConfig { stride, padding } = self.config;
        for result in 0..n * outputs * rows * columns {
            let (column, row) = (result % columns, result / columns % rows);
            let (o, image) =
                (result / (columns * rows) % outputs, result / (columns * rows * outputs));
            for tap in 0..channels * kh * kw {
                let (kx, ky, c) = (tap % kw, tap / kw % kh, tap / (kw * kh));
                let (y, x) = (row * stride[0] + ky, column * stride[1] + kx);
                let inside = |at: usize, axis: usize, extent: usize| {
                    at.checked_sub(padding[axis]).filter(|at| *at < extent)
                };
                if let (Some(y), Some(x)) = (inside(y, 0, height), inside(x, 1, width)) {
                    let pixel = ((image * channels + c) * height + y) * width + x;
                    visit(result, pixel, o * channels * kh * kw + tap);
                }
            }
        }
    }

    /// The convolution; products with the padding are terms too, and so is the bias.
    fn forward(&self, x: &[f64], w: &[f64], bias: Option<&[f64]>) -> Vec<Expected> {
        let [n, outputs, rows, columns] = self.output();
        let mut sums = Terms::new(n * outputs * rows * columns);
        self.each(|result, pixel, tap| sums.multiply(result, x[pixel], w[tap]));
        if let Some(bias) = bias {
            let of = |result: usize| bias[result / (rows * columns) % outputs];
            (0..sums.0.len()).for_each(|result| sums.add(result, of(result)));
        }
        sums.wanted()
    }

    /// Gradients of input, weight and bias.
    fn backward(&self, grad: &[f64], x: &[f64], w: &[f64]) -> [Vec<Expected>; 3] {
        let (mut dx, mut dw) = (Terms::new(x.len()), Terms::new(w.len()));
        self.each(|result, pixel, tap| {
            dx.multiply(pixel, grad[result], w[tap]);
            dw.multiply(tap, grad[result], x[pixel]);
        });
        let [_, outputs, rows, columns] = self.output();
        let of = |o: usize| {
            let mine = (0..grad.len()).filter(|at| at / (rows * columns) % outputs == o);
            sum(&mine.map(|at| grad[at]).collect::<Vec<f64>>())
        };
        [dx.wanted(), dw.wanted(), (0..outputs).map(of).collect()]
    }
}

/// For each sum its value, the magnitudes of its terms, their number, and the magnitudes of those that are products.
struct Terms(Vec<[f64; 4]>);

impl Terms {
    fn new(length: usize) -> Self {
        Self(vec![[0.0, 0.0, count(1), 0.0]; length])
    }

    fn add(&mut self, at: usize, term: f64) {
        let sum = &mut self.0[at];
        *sum = [sum[0] + term, sum[1] + term.abs(), sum[2] + 1.0, sum[3]];
    }

    fn multiply(&mut self, at: usize, one: f64, other: f64) {
        let term = one * other;
        self.add(at, term);
        self.0[at][3] += term.abs();
    }

    fn wanted(self) -> Vec<Expected> {
        let one = |[value, mass, terms, products]: [f64; 4]| Expected {
            products,
            ..Expected::near(value, terms * mass)
        };
        self.0.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradients_are_what_central_differences_say() {
        let config = Conv2dConfig { stride: [2, 1], padding: [1, 0] };
        let layer = Layer { input: [2, 2, 3, 4], weight: [3, 2, 2, 3], config };
        let ramp = |n: usize, by: f64| (0..n).map(|i| (by * count(i)).sin()).collect::<Vec<f64>>();
        let (x, w, b) = (ramp(48, 1.0), ramp(36, 2.0), ramp(3, 3.0));
        let g = ramp(layer.output().iter().product(), 4.0);
        let gradients = layer.backward(&g, &x, &w).concat();
        check_gradients(&[&x[..], &w, &b].concat(), &gradients, |all| {
            weighted(&layer.forward(&all[..48], &all[48..84], Some(&all[84..])), &g)
        });
    }
}
