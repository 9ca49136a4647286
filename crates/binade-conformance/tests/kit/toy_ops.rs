//! Operations of `binade-ops` as one would first write them down: plain loops in `f32`, rounded at the end.
//!
//! What sums in plain `f32` and in the plainest order has to be near enough: these loops try the kit's bounds from below.

use crate::toy::Plain;
use crate::toy_fits::check;
use crate::toy_images::{convolve, convolve_back, pool, pool_back};
use crate::toy_rows as rows;
use binade_conformance::{OpInvocation, Refusal, cases::distribution};
use binade_core::stochastic::{Key, bits};
use binade_core::{DType, ErrorKind};
use binade_ops::shape;

pub(crate) fn compute(op: &OpInvocation, t: &[&Plain]) -> Result<Vec<Plain>, Refusal> {
    use OpInvocation as C;
    check(op, t)?;
    Ok(match (op, t) {
        (C::Fill { value, shape, dtype }, _) => vec![filled(*value, shape, *dtype)],
        (C::Reshape { shape }, [x]) => vec![Plain { shape: shape.clone(), ..(*x).clone() }],
        (C::MatMul, [a, b]) => vec![matmul(a, b, total)],
        (C::MatMulBackward, [g, a, b]) => {
            vec![matmul(g, &turned(b), total), matmul(&turned(a), g, total)]
        }
        (C::Bmm, [a, b]) => vec![stacked(a, &pairs(a, b, |a, b| matmul(a, b, total)), b)],
        (C::BmmBackward, [g, a, b]) => {
            let da = pairs(g, b, |g, b| matmul(g, &turned(b), total));
            let db = pairs(a, g, |a, g| matmul(&turned(a), g, total));
            vec![joined(a, &da), joined(b, &db)]
        }
        (C::Linear, [x, w, b @ ..]) => vec![linear(x, w, b.first().copied())],
        (C::LinearBackward { bias }, [g, x, w]) => linear_back(g, x, w, *bias, true),
        (C::LinearRelu, [x, w, b @ ..]) => {
            vec![map(&linear(x, w, b.first().copied()), |x| if x <= 0.0 { 0.0 } else { x })]
        }
        (C::LinearReluBackward { bias }, [grad, output, x, w]) => {
            let passed = zip(grad, output, |g, y| if y <= 0.0 { 0.0 } else { g });
            linear_back(&passed, x, w, *bias, true)
        }
        (C::Conv2d { config }, [x, w, b @ ..]) => {
            vec![convolve(x, w, b.first().copied(), *config, |tap| tap)]
        }
        (C::Conv2dBackward { config, bias }, [g, x, w]) => convolve_back(g, x, w, *config, *bias),
        (C::MaxPool2d { config }, [x]) => vec![pool(x, *config)],
        (C::MaxPool2dBackward { config }, [g, x]) => vec![pool_back(g, x, *config, false)],
        (C::Sum, [x]) => vec![scalar(total(&x.read()))],
        (C::Mean, [x]) => vec![scalar(total(&x.read()) / count(x.read().len()))],
        (C::SumBackward { shape, dtype }, [g]) => vec![filled(g.read()[0], shape, *dtype)],
        (C::MeanBackward { shape, dtype }, [g]) => {
            vec![filled(g.read()[0] / count(shape.iter().product()), shape, *dtype)]
        }
        (C::Embedding, [table, at]) => vec![looked_up(table, at)?],
        (C::EmbeddingBackward { rows }, [g, at]) => {
            vec![scattered(g, &indices(at, *rows)?, *rows, |sum, g| sum + g)]
        }
        (C::Dropout { p } | C::DropoutBackward { p }, [x, key]) => {
            vec![dropout(x, key, *p, 1.0 / (1.0 - p))]
        }
        (C::BiasAdd, [x, b]) => {
            let b = b.read();
            vec![by_channel(x, |x, channel| x + b[channel])]
        }
        (C::BiasAddBackward, [g]) => vec![(*g).clone(), bias_back(g)],
        _ => rows::compute(op, t).unwrap_or_else(|| pointwise(op, t))?,
    })
}

fn pointwise(op: &OpInvocation, t: &[&Plain]) -> Result<Vec<Plain>, Refusal> {
    use OpInvocation as C;
    Ok(match (op, t) {
        (C::Relu, [x]) => vec![map(x, |x| if x <= 0.0 { 0.0 } else { x })],
        (C::ReluBackward, [g, y]) => vec![zip(g, y, |g, y| if y <= 0.0 { 0.0 } else { g })],
        (C::Gelu, [x]) => vec![map(x, gelu)],
        (C::GeluBackward, [g, x]) => vec![zip(g, x, |g, x| g * gelu_slope(x))],
        (C::Tanh, [x]) => vec![map(x, f32::tanh)],
        (C::TanhBackward, [g, y]) => vec![zip(g, y, |g, y| g * (1.0 - y * y))],
        (C::Add, [a, b]) => vec![zip(a, b, |a, b| a + b)],
        (C::AddBackward, [g]) => vec![(*g).clone(); 2],
        (C::Mul, [a, b]) => vec![zip(a, b, |a, b| a * b)],
        (C::MulBackward, [g, a, b]) => [b, a].map(|other| zip(g, other, |g, x| g * x)).into(),
        _ => return Err(Refusal::unsupported("the operation")),
    })
}

pub(crate) fn map(x: &Plain, f: impl Fn(f32) -> f32) -> Plain {
    Plain::write(&x.read().into_iter().map(f).collect::<Vec<f32>>(), x.dtype, &x.shape)
}

pub(crate) fn zip(a: &Plain, b: &Plain, f: impl Fn(f32, f32) -> f32) -> Plain {
    let pairs = a.read().into_iter().zip(b.read());
    Plain::write(&pairs.map(|(a, b)| f(a, b)).collect::<Vec<f32>>(), a.dtype, &a.shape)
}

fn filled(value: f32, shape: &[usize], dtype: DType) -> Plain {
    Plain::write(&vec![value; shape.iter().product()], dtype, shape)
}

pub(crate) fn scalar(value: f32) -> Plain {
    Plain::write(&[value], DType::F32, &[])
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn gelu(x: f32) -> f32 {
    if x == f32::NEG_INFINITY { 0.0 } else { x * distribution(x.into()) as f32 }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn gelu_slope(x: f32) -> f32 {
    let density = (-0.5 * x * x).exp() / std::f32::consts::TAU.sqrt();
    // Far out the product is 0, at infinity too.
    distribution(x.into()) as f32 + if density == 0.0 { 0.0 } else { x * density }
}

/// One after the other.
pub(crate) fn total(terms: &[f32]) -> f32 {
    terms.iter().fold(0.0, |sum, x| sum + x)
}

/// The product of two matrices, with the terms of each element added up by `sum`.
pub(crate) fn matmul(a: &Plain, b: &Plain, sum: impl Fn(&[f32]) -> f32) -> Plain {
    let (rows, inner, columns) = (a.shape[0], a.shape[1], b.shape[1]);
    let (left, right) = (a.read(), b.read());
    let cell = |i: usize| {
        let term = |k| left[i / columns * inner + k] * right[k * columns + i % columns];
        sum(&(0..inner).map(term).collect::<Vec<f32>>())
    };
    let product: Vec<f32> = (0..rows * columns).map(cell).collect();
    Plain::write(&product, a.dtype, &[rows, columns])
}

/// A matrix with its axes swapped.
fn turned(a: &Plain) -> Plain {
    let (values, rows, columns) = (a.read(), a.shape[0], a.shape[1]);
    let turned: Vec<f32> =
        (0..rows * columns).map(|i| values[i % rows * columns + i / rows]).collect();
    Plain::write(&turned, a.dtype, &[columns, rows])
}

/// What `f` makes of each pair of matrices, as they lie one after the other.
fn pairs(a: &Plain, b: &Plain, f: impl Fn(&Plain, &Plain) -> Plain) -> Vec<u8> {
    let part = |x: &Plain, i: usize| {
        let shape = x.shape[x.shape.len() - 2..].to_vec();
        let size = shape.iter().product::<usize>() * x.dtype.bytes();
        Plain { dtype: x.dtype, shape, bytes: x.bytes[i * size..(i + 1) * size].to_vec() }
    };
    let count: usize = a.shape[..a.shape.len() - 2].iter().product();
    (0..count).flat_map(|i| f(&part(a, i), &part(b, i)).bytes).collect()
}

fn stacked(a: &Plain, bytes: &[u8], b: &Plain) -> Plain {
    let mut shape = a.shape.clone();
    shape.pop();
    shape.extend(b.shape.last());
    Plain { dtype: a.dtype, shape, bytes: bytes.to_vec() }
}

fn joined(like: &Plain, bytes: &[u8]) -> Plain {
    Plain { bytes: bytes.to_vec(), ..like.clone() }
}

pub(crate) fn linear(x: &Plain, w: &Plain, bias: Option<&Plain>) -> Plain {
    let (outer, inner) = (w.shape[0], w.shape[1]);
    let rows: usize = x.shape[..x.shape.len() - 1].iter().product();
    let (x, w, b, dtype) = (x.read(), w.read(), bias.map(Plain::read), x.dtype);
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
    let (outer, inner) = (w.shape[0], w.shape[1]);
    let rows: usize = x.shape[..x.shape.len() - 1].iter().product();
    let flat = |x: &Plain, columns| Plain { shape: vec![rows, columns], ..x.clone() };
    let (g, x) = (flat(g, outer), flat(x, inner));
    let mut grads = vec![matmul(&g, w, total), matmul(&turned(&g), &x, total)];
    if bias {
        let values = g.read();
        let places = |o: usize, row: usize| {
            if over_rows { row * outer + o } else { (o * rows + row) % values.len() }
        };
        let sums = (0..outer).map(|o| (0..rows).fold(0.0, |sum, row| sum + values[places(o, row)]));
        grads.push(Plain::write(&sums.collect::<Vec<f32>>(), g.dtype, &[outer]));
    }
    grads
}

/// What is added up of the channels of a gradient.
fn bias_back(g: &Plain) -> Plain {
    let axis = shape::channels(&g.shape).unwrap_or_default();
    let mut sums = vec![0.0; g.shape[axis]];
    let values = g.read();
    for (at, g_at) in values.iter().enumerate() {
        sums[channel(&g.shape, axis, at)] += g_at;
    }
    Plain::write(&sums, g.dtype, &[sums.len()])
}

fn channel(shape: &[usize], axis: usize, at: usize) -> usize {
    at / shape[axis + 1..].iter().product::<usize>() % shape[axis]
}

fn by_channel(x: &Plain, f: impl Fn(f32, usize) -> f32) -> Plain {
    let axis = shape::channels(&x.shape).unwrap_or_default();
    let values = x.read().into_iter().enumerate();
    let values: Vec<f32> =
        values.map(|(at, value)| f(value, channel(&x.shape, axis, at))).collect();
    Plain::write(&values, x.dtype, &x.shape)
}

/// The elements of an i64 tensor.
pub(crate) fn i64s(tensor: &Plain) -> Vec<i64> {
    let (elements, _) = tensor.bytes.as_chunks();
    elements.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

/// Labels or indices, all of them below `limit`.
pub(crate) fn indices(tensor: &Plain, limit: usize) -> Result<Vec<usize>, Refusal> {
    let outside = || Refusal::Rejected(ErrorKind::InvalidArgument, format!("beyond {limit}"));
    let one = |i: i64| usize::try_from(i).ok().filter(|i| *i < limit).ok_or_else(outside);
    i64s(tensor).into_iter().map(one).collect()
}

fn looked_up(table: &Plain, at: &Plain) -> Result<Plain, Refusal> {
    let width = table.shape[1] * table.dtype.bytes();
    let rows = indices(at, table.shape[0])?;
    let bytes = rows.iter().flat_map(|row| &table.bytes[row * width..(row + 1) * width]);
    let shape = [&at.shape[..], &table.shape[1..]].concat();
    Ok(Plain { dtype: table.dtype, shape, bytes: bytes.copied().collect() })
}

/// Gradients of rows put where the rows came from, `f` joining them with what is there.
pub(crate) fn scattered(
    g: &Plain,
    indices: &[usize],
    rows: usize,
    f: impl Fn(f32, f32) -> f32,
) -> Plain {
    let width = g.shape.last().copied().unwrap_or_default();
    let (mut table, values) = (vec![0.0; rows * width], g.read());
    for (i, row) in indices.iter().enumerate() {
        for column in 0..width {
            let at = row * width + column;
            table[at] = f(table[at], values[i * width + column]);
        }
    }
    Plain::write(&table, g.dtype, &[rows, width])
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
    Plain::write(&values.collect::<Vec<f32>>(), x.dtype, &x.shape)
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24")]
pub(crate) fn count(n: usize) -> f32 {
    n as f32
}
