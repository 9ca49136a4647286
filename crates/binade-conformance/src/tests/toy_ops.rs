//! Operations of `binade_core::ops` in their simplest form: plain loops in `f32`, rounded at the end.
//!
//! A plain `f32` sum in the simplest order must be accurate enough: these loops test that the kit's bounds are not too tight.

use super::faulty::{Fault, Faulty};
use super::toy::{Elements, Plain, Tensors, Toy};
use crate::backend::Backend as _;
use crate::{OpInvocation, Result, Runner};

/// Operations by such loops; by the CPU's for all others, and for operands that do not fit.
struct Loops;

impl Fault for Loops {
    fn compute(&self, op: &OpInvocation, t: &[&Plain]) -> Result<Tensors> {
        use OpInvocation as C;
        let right = Toy.compute(op, t)?;
        Ok(vec![match (op, t) {
            (C::MatMul, [a, b]) => matmul(a, b, total),
            (C::Linear, [x, w, b @ ..]) => linear(x, w, b.first().copied()),
            (C::Sum, [x]) => scalar(total(&x.read())),
            (C::Mean, [x]) => scalar(total(&x.read()) / count(x.read().len())),
            (C::Softmax, [x]) => by_row(x, softmax),
            (C::LayerNorm { eps }, [x, w, b]) => layer_norm([x, w, b], *eps, variance),
            (C::Tanh, [x]) => map(x, f32::tanh),
            _ => return Ok(right),
        }])
    }
}

#[test]
fn plain_loops_in_f32_are_near_enough() {
    for operation in ["matmul", "linear", "sum", "mean", "softmax", "layer_norm", "tanh"] {
        Runner::new().only(format!("{operation}/")).run_on(&Faulty(&Loops)).assert_success();
    }
}

pub(super) fn map(x: &Plain, f: impl Fn(f32) -> f32) -> Plain {
    Plain::write(&x.read().into_iter().map(f).collect::<Vec<f32>>(), x.dtype(), x.shape())
}

/// Returns the tensor with zeros for the elements from `first` on, or for each `step`-th of them.
pub(super) fn zeroed(x: &Plain, first: usize, step: usize) -> Plain {
    let mut values = x.read();
    values.iter_mut().skip(first).step_by(step).for_each(|x| *x = 0.0);
    Plain::write(&values, x.dtype(), x.shape())
}

pub(super) fn zip(a: &Plain, b: &Plain, f: impl Fn(f32, f32) -> f32) -> Plain {
    let pairs = a.read().into_iter().zip(b.read());
    Plain::write(&pairs.map(|(a, b)| f(a, b)).collect::<Vec<f32>>(), a.dtype(), a.shape())
}

pub(super) fn scalar(value: f32) -> Plain {
    Plain::write(&[value], crate::core::DType::F32, &[])
}

/// Returns the sum of `terms`, added one after the other.
pub(super) fn total(terms: &[f32]) -> f32 {
    terms.iter().fold(0.0, |sum, x| sum + x)
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24")]
pub(super) fn count(n: usize) -> f32 {
    n as f32
}

/// The product of two matrices, with the terms of each element added up by `sum`.
pub(super) fn matmul(a: &Plain, b: &Plain, sum: impl Fn(&[f32]) -> f32) -> Plain {
    let (rows, inner, columns) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let (left, right) = (a.read(), b.read());
    let cell = |i: usize| {
        let term = |k| left[i / columns * inner + k] * right[k * columns + i % columns];
        sum(&(0..inner).map(term).collect::<Vec<f32>>())
    };
    let product: Vec<f32> = (0..rows * columns).map(cell).collect();
    Plain::write(&product, a.dtype(), &[rows, columns])
}

fn linear(x: &Plain, w: &Plain, bias: Option<&Plain>) -> Plain {
    let (outer, inner) = (w.shape()[0], w.shape()[1]);
    let out = [&x.shape()[..x.shape().len() - 1], &[outer]].concat();
    let (dtype, x, w, b) = (x.dtype(), x.read(), w.read(), bias.map(Plain::read));
    let cell = |i: usize| {
        let start = b.as_ref().map_or(0.0, |b| b[i % outer]);
        (0..inner).fold(start, |sum, k| sum + x[i / outer * inner + k] * w[i % outer * inner + k])
    };
    Plain::write(&(0..out.iter().product()).map(cell).collect::<Vec<f32>>(), dtype, &out)
}

pub(super) fn by_row(x: &Plain, f: impl Fn(&[f32]) -> Vec<f32>) -> Plain {
    let width = x.shape().last().copied().unwrap_or(1).max(1);
    Plain::write(&x.read().chunks(width).flat_map(f).collect::<Vec<f32>>(), x.dtype(), x.shape())
}

/// Returns the exponentials of the differences from the largest.
pub(super) fn exponentials(x: &[f32]) -> Vec<f32> {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    x.iter().map(|x| (x - max).exp()).collect()
}

pub(super) fn softmax(x: &[f32]) -> Vec<f32> {
    let (terms, sum) = (exponentials(x), total(&exponentials(x)));
    terms.iter().map(|term| term / sum).collect()
}

/// Returns the variance about `mean`.
fn variance(x: &[f32], mean: f32) -> f32 {
    total(&x.iter().map(|x| (x - mean) * (x - mean)).collect::<Vec<f32>>()) / count(x.len())
}

pub(super) fn layer_norm(
    [x, w, b]: [&Plain; 3],
    eps: f32,
    variance: impl Fn(&[f32], f32) -> f32,
) -> Plain {
    let (w, b) = (w.read(), b.read());
    by_row(x, |x| {
        let mean = total(x) / count(x.len());
        let rstd = 1.0 / (variance(x, mean) + eps).sqrt();
        x.iter().zip(w.iter().zip(&b)).map(|(x, (w, b))| (x - mean) * rstd * w + b).collect()
    })
}
