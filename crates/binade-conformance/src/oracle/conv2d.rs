//! Cross-correlation, by loops over windows and taps.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

use super::{matmul::count, sum::sum};
use crate::Wanted;
use binade_ops::Conv2dConfig;

/// One convolution: `[N, C, H, W]` by `[O, C, KH, KW]`.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// N, C, H and W.
    pub input: [usize; 4],
    /// O, C, KH and KW.
    pub weight: [usize; 4],
    /// How the kernel moves.
    pub config: Conv2dConfig,
}

impl Layer {
    /// `[N, O, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down.
    pub fn output(&self) -> [usize; 4] {
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
    pub fn forward(&self, x: &[f64], w: &[f64], bias: Option<&[f64]>) -> Vec<Wanted> {
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
    pub fn backward(&self, grad: &[f64], x: &[f64], w: &[f64]) -> [Vec<Wanted>; 3] {
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

    fn wanted(self) -> Vec<Wanted> {
        let one = |[value, mass, terms, products]: [f64; 4]| Wanted {
            products,
            ..Wanted::near(value, terms * mass)
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
        let all = [&x[..], &w, &b].concat();
        let weighted = |all: &[f64]| -> f64 {
            let y = layer.forward(&all[..48], &all[48..84], Some(&all[84..]));
            y.iter().zip(&g).map(|(y, g)| g * y.value).sum()
        };
        for (i, wanted) in layer.backward(&g, &x, &w).concat().iter().enumerate() {
            let moved = |by: f64| {
                let mut all = all.clone();
                all[i] += by;
                weighted(&all)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - wanted.value).abs() <= 1e-8, "{i}: {difference}");
        }
    }
}
