//! Operations of `binade-ops` as one would first write them down: plain loops in `f32`, rounded at the end.
//!
//! What sums in plain `f32` and in the plainest order has to be near enough: these loops try the kit's bounds from below.

use crate::faulty::{Fault, Faulty};
use crate::toy::{Elements, Plain, Toy};
use crate::toy_images::convolve;
use crate::toy_rows::{batch_norm, by_row, layer_norm, softmax, variance};
use binade_conformance::{OpInvocation, Result, Runner, Subject, SubjectError};
use binade_core::stochastic::{Key, bits};
use binade_core::{DType, ErrorKind};

/// Operations that have such a loop; the CPU's for all others, and for operands that do not fit.
pub(crate) struct Loops;

impl Fault for Loops {
    fn compute(&self, op: &OpInvocation, t: &[&Plain]) -> Result<Vec<Plain>> {
        use OpInvocation as C;
        let right = Toy.compute(op, t)?;
        Ok(match (op, t) {
            (C::MatMul, [a, b]) => vec![matmul(a, b, total)],
            (C::MatMulBackward, [g, a, b]) => {
                vec![matmul(g, &turned(b), total), matmul(&turned(a), g, total)]
            }
            (C::Linear, [x, w, b @ ..]) => vec![linear(x, w, b.first().copied())],
            (C::LinearBackward { bias }, [g, x, w]) => linear_back(g, x, w, *bias, true),
            (C::Conv2d { config }, [x, w, b @ ..]) => {
                vec![convolve(x, w, b.first().copied(), *config, |tap| tap)]
            }
            (C::Sum, [x]) => vec![scalar(total(&x.read()))],
            (C::Mean, [x]) => vec![scalar(total(&x.read()) / count(x.read().len()))],
            (C::Softmax, [x]) => vec![by_row(x, softmax)],
            (C::LayerNorm { eps }, [x, w, b]) => vec![layer_norm(x, w, b, *eps, variance)],
            (C::BatchNorm { config }, [x, w, b, mean, var]) => {
                batch_norm([x, w, b], [mean, var], config.momentum, config.eps, variance)
            }
            (C::Tanh, [x]) => vec![map(x, f32::tanh)],
            _ => right,
        })
    }
}

#[test]
fn plain_loops_in_f32_are_near_enough() {
    for operation in
        ["matmul", "linear", "conv2d", "sum", "mean", "softmax", "layer_norm", "batch_norm", "tanh"]
    {
        Runner::new().only(format!("{operation}/")).run(&Faulty(&Loops)).assert_success();
    }
}

pub(crate) fn map(x: &Plain, f: impl Fn(f32) -> f32) -> Plain {
    Plain::write(&x.read().into_iter().map(f).collect::<Vec<f32>>(), x.dtype(), x.shape())
}

pub(crate) fn zip(a: &Plain, b: &Plain, f: impl Fn(f32, f32) -> f32) -> Plain {
    let pairs = a.read().into_iter().zip(b.read());
    Plain::write(&pairs.map(|(a, b)| f(a, b)).collect::<Vec<f32>>(), a.dtype(), a.shape())
}

pub(crate) fn scalar(value: f32) -> Plain {
    Plain::write(&[value], DType::F32, &[])
}

/// One after the other.
pub(crate) fn total(terms: &[f32]) -> f32 {
    terms.iter().fold(0.0, |sum, x| sum + x)
}

/// The product of two matrices, with the terms of each element added up by `sum`.
pub(crate) fn matmul(a: &Plain, b: &Plain, sum: impl Fn(&[f32]) -> f32) -> Plain {
    let (rows, inner, columns) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let (left, right) = (a.read(), b.read());
    let cell = |i: usize| {
        let term = |k| left[i / columns * inner + k] * right[k * columns + i % columns];
        sum(&(0..inner).map(term).collect::<Vec<f32>>())
    };
    let product: Vec<f32> = (0..rows * columns).map(cell).collect();
    Plain::write(&product, a.dtype(), &[rows, columns])
}

/// A matrix with its axes swapped.
fn turned(a: &Plain) -> Plain {
    let (values, rows, columns) = (a.read(), a.shape()[0], a.shape()[1]);
    let turned: Vec<f32> =
        (0..rows * columns).map(|i| values[i % rows * columns + i / rows]).collect();
    Plain::write(&turned, a.dtype(), &[columns, rows])
}

pub(crate) fn linear(x: &Plain, w: &Plain, bias: Option<&Plain>) -> Plain {
    let (outer, inner) = (w.shape()[0], w.shape()[1]);
    let rows: usize = x.shape()[..x.shape().len() - 1].iter().product();
    let (x, w, b, dtype) = (x.read(), w.read(), bias.map(Plain::read), x.dtype());
    let cell = |i: usize| {
        let start = b.as_ref().map_or(0.0, |b| b[i % outer]);
        (0..inner).fold(start, |sum, k| sum + x[i / outer * inner + k] * w[i % outer * inner + k])
    };
    Plain::write(&(0..rows * outer).map(cell).collect::<Vec<f32>>(), dtype, &[rows, outer])
}

/// Gradients of input, weight and perhaps bias: that one over the rows, or over the columns, which is wrong.
pub(crate) fn linear_back(
    g: &Plain,
    x: &Plain,
    w: &Plain,
    bias: bool,
    over_rows: bool,
) -> Vec<Plain> {
    let (outer, inner) = (w.shape()[0], w.shape()[1]);
    let rows: usize = x.shape()[..x.shape().len() - 1].iter().product();
    let flat = |x: &Plain, columns| x.reshape(&[rows, columns]).unwrap();
    let (g, x) = (flat(g, outer), flat(x, inner));
    let mut grads = vec![matmul(&g, w, total), matmul(&turned(&g), &x, total)];
    if bias {
        let values = g.read();
        let places = |o: usize, row: usize| {
            if over_rows { row * outer + o } else { (o * rows + row) % values.len() }
        };
        let sums = (0..outer).map(|o| (0..rows).fold(0.0, |sum, row| sum + values[places(o, row)]));
        grads.push(Plain::write(&sums.collect::<Vec<f32>>(), g.dtype(), &[outer]));
    }
    grads
}

/// The elements of an i64 tensor.
pub(crate) fn i64s(tensor: &Plain) -> Vec<i64> {
    let bytes = tensor.to_bits();
    let (elements, _) = bytes.as_chunks();
    elements.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

/// Labels or indices, all of them below `limit`.
pub(crate) fn indices(tensor: &Plain, limit: usize) -> Result<Vec<usize>> {
    let outside = || SubjectError::Rejected(ErrorKind::InvalidArgument, format!("beyond {limit}"));
    let one = |i: i64| usize::try_from(i).ok().filter(|i| *i < limit).ok_or_else(outside);
    i64s(tensor).into_iter().map(one).collect()
}

/// Gradients of rows put where the rows came from, `f` joining them with what is there.
pub(crate) fn scattered(
    g: &Plain,
    indices: &[usize],
    rows: usize,
    f: impl Fn(f32, f32) -> f32,
) -> Plain {
    let width = g.shape().last().copied().unwrap_or_default();
    let (mut table, values) = (vec![0.0; rows * width], g.read());
    for (i, row) in indices.iter().enumerate() {
        for column in 0..width {
            let at = row * width + column;
            table[at] = f(table[at], values[i * width + column]);
        }
    }
    Plain::write(&table, g.dtype(), &[rows, width])
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "halves are halves, and p is between 0 and 1"
)]
pub(crate) fn dropout(x: &Plain, key: &Plain, p: f32, factor: f32) -> Plain {
    let key = i64s(key);
    let (seed, counter) = (key[0].cast_unsigned(), key[1].cast_unsigned());
    let key = Key { seed, parameter: !((counter >> 32) as u32), step: counter as u32 };
    let threshold = (f64::from(p) * 2.0_f64.powi(32)) as u64;
    let values = x.read().into_iter().zip(0..);
    let stays = |i| u64::from(bits(key, i)) >= threshold;
    let values = values.map(|(x, i)| if stays(i) { x * factor } else { 0.0 });
    Plain::write(&values.collect::<Vec<f32>>(), x.dtype(), x.shape())
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24")]
pub(crate) fn count(n: usize) -> f32 {
    n as f32
}
