//! The oracle: attention in `f64`, score by score.
//!
//! Masks are broadcast by their extents. Errors are in units of 2^-24: first a score's, from its products; then its exponential's, by [`cost`]; then
//! those of sums. Weights and gradients of scores may be rounded to the element type ([`Rounding`]).

use super::super::{prelude::*, softmax::cost};
use binade_core::ops::AttentionConfig;

/// A rounding of factors to the element type: `share` of each, and `least` of one.
#[derive(Clone, Copy)]
struct Rounding {
    share: f64,
    least: f64,
}

impl Rounding {
    fn to(dtype: DType) -> Self {
        let (share, least) = match dtype {
            DType::BF16 => (2.0_f64.powi(-8), 0.0),
            // Subnormals are multiples of 2^-24.
            DType::F16 => (2.0_f64.powi(-11), 2.0_f64.powi(-25)),
            _ => (0.0, 0.0),
        };
        Self { share, least }
    }

    fn of(self, x: f64) -> f64 {
        self.share * x.abs() + self.least
    }
}

/// A row-major matrix of `columns`.
struct Matrix {
    values: Vec<f64>,
    columns: usize,
}

impl Matrix {
    /// Matrix `place` of the last two axes.
    fn of(tensor: &Stored, place: usize) -> Self {
        let [.., rows, columns] = tensor.shape[..] else { unreachable!("checked by the case") };
        let size = rows * columns;
        Self { values: tensor.values().skip(place * size).take(size).collect(), columns }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

/// The sum of products of two rows, and that of their magnitudes.
fn dot(a: &[f64], b: &[f64]) -> [f64; 2] {
    let terms = a.iter().zip(b).map(|(a, b)| a * b);
    [terms.clone().sum(), terms.map(f64::abs).sum()]
}

/// A mask, whose elements are decoded once; each score reads one.
struct Mask<'a> {
    shape: &'a [usize],
    values: Vec<f64>,
}

impl<'a> Mask<'a> {
    fn new(mask: &'a Stored) -> Self {
        Self { shape: &mask.shape, values: mask.values().collect() }
    }

    /// Returns the element for an index of the scores, which have the extents `whole`: axes of extent 1 are read at 0.
    fn broadcast(&self, whole: &[usize], mut at: usize) -> f64 {
        let missing = whole.len() - self.shape.len();
        let (mut index, mut step) = (0, 1);
        for (axis, extent) in whole.iter().enumerate().rev() {
            let place = at % extent;
            at /= extent;
            if axis >= missing {
                let own = self.shape[axis - missing];
                index += if own == 1 { 0 } else { place * step };
                step *= own;
            }
        }
        self.values[index]
    }
}

/// The matrices of one place, and the scores of its queries.
struct Place<'a> {
    operands: [Matrix; 3],
    mask: Option<&'a Mask<'a>>,
    /// Extents of all scores, and the place's first.
    whole: Vec<usize>,
    first: usize,
    scale: f64,
    causal: bool,
}

impl<'a> Place<'a> {
    fn new(
        operands: [&Stored; 3],
        mask: Option<&'a Mask<'a>>,
        config: AttentionConfig,
        place: usize,
    ) -> Self {
        let [rows, keys] = [0, 1].map(|of: usize| extents(operands[of])[0]);
        let width = extents(operands[0])[1];
        let lead = &operands[0].shape[..operands[0].shape.len() - 2];
        let scale = config.scale.map_or_else(|| count(width.max(1)).sqrt().recip(), f64::from);
        Self {
            operands: operands.map(|of| Matrix::of(of, place)),
            mask,
            whole: [lead, &[rows, keys]].concat(),
            first: place * rows * keys,
            scale,
            causal: config.causal,
        }
    }

    /// Returns the scores of one query and their errors; −∞ for a masked key.
    fn scores(&self, row: usize) -> Vec<(f64, f64)> {
        let [queries, keys, _] = &self.operands;
        let count_of_keys = self.whole[self.whole.len() - 1];
        let one = |key: usize| {
            if self.causal && key > row {
                return (f64::NEG_INFINITY, 0.0);
            }
            let [sum, size] = dot(queries.row(row), keys.row(key)).map(|of| of * self.scale);
            let at = self.first + row * count_of_keys + key;
            let score = sum + self.mask.map_or(0.0, |mask| mask.broadcast(&self.whole, at));
            let error = (count(queries.columns) + 4.0) * size.abs() + score.abs();
            if score == f64::NEG_INFINITY { (score, 0.0) } else { (score, error) }
        };
        (0..count_of_keys).map(one).collect()
    }
}

/// The last two extents.
fn extents(of: &Stored) -> [usize; 2] {
    let [.., rows, columns] = of.shape[..] else { unreachable!("checked by the case") };
    [rows, columns]
}

/// All places, and the queries of each.
fn places<'a>(
    operands: [&'a Stored; 3],
    mask: Option<&'a Mask<'a>>,
    config: AttentionConfig,
) -> impl Iterator<Item = (usize, Place<'a>)> {
    let places: usize = operands[0].shape.iter().rev().skip(2).product();
    (0..places).map(move |place| (place, Place::new(operands, mask, config, place)))
}

/// Output and statistics.
pub(super) fn forward(
    operands @ [q, _, _]: [&Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> [Vec<Expected>; 2] {
    let (mut output, mut statistics) = (Vec::new(), Vec::new());
    let mask = mask.map(Mask::new);
    for (_, place) in places(operands, mask.as_ref(), config) {
        for row in 0..extents(q)[0] {
            let [of_row, of_statistics] = forward_row(&place, row, Rounding::to(q.dtype));
            output.extend(of_row);
            statistics.extend(of_statistics);
        }
    }
    [output, statistics]
}

/// Output and statistics of one query.
fn forward_row(place: &Place<'_>, row: usize, rounding: Rounding) -> [Vec<Expected>; 2] {
    let scores = place.scores(row);
    let values = &place.operands[2];
    if scores.iter().all(|(score, _)| *score == f64::NEG_INFINITY) {
        let nothing = vec![Expected::exactly(f64::NEG_INFINITY); 2];
        return [vec![Expected::exactly(0.0); values.columns], nothing];
    }
    let largest = scores.iter().fold(f64::NEG_INFINITY, |max, (score, _)| max.max(*score));
    let sum: f64 = scores.iter().map(|(score, _)| (score - largest).exp()).sum();
    // The weight of each key, and its relative error without that of the sum.
    let weights = scores.iter().map(|(score, error)| {
        (
            (score - largest).exp() / sum,
            error + cost(score - largest) + (score - largest).abs().min(200.0),
        )
    });
    let weights: Vec<(f64, f64)> = weights.collect();
    // A tile has eight keys or more; each tile rescales the earlier sums by an exponential.
    let keys = count(weights.len());
    let doubt =
        2.0 * keys + 8.0 + weights.iter().map(|(weight, error)| weight * error).sum::<f64>();
    let doubt = doubt + 2.0 * sum.ln().abs();
    let column = |column: usize| {
        let mut wanted = Expected::near(0.0, 0.0);
        for (key, (weight, error)) in weights.iter().enumerate() {
            let v = values.row(key)[column];
            wanted.value += weight * v;
            wanted.mass += v.abs() * weight * (error + doubt + keys);
            wanted.room += v.abs() * rounding.of(*weight);
        }
        wanted
    };
    // The error of the score that is the largest, or of one that may be larger.
    let of_largest = scores.iter().fold(0.0_f64, |most, (_, error)| most.max(*error));
    let largest = if sum.is_nan() { f64::NAN } else { largest };
    let statistics =
        vec![Expected::near(largest, of_largest), Expected::near(sum.ln(), doubt + of_largest)];
    [(0..values.columns).map(column).collect(), statistics]
}

/// Gradients of query, key and value from the gradient, the output and its statistics.
pub(super) fn backward(
    operands @ [q, k, v]: [&Stored; 3],
    given: [&Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> [Vec<Expected>; 3] {
    let mut grads = operands.map(|of| vec![Expected::near(0.0, 0.0); of.len()]);
    let sizes = [q, k, v].map(|of| extents(of)[0] * extents(of)[1]);
    let mask = mask.map(Mask::new);
    for (at, place) in places(operands, mask.as_ref(), config) {
        let mut own = Vec::new();
        for (grads, size) in grads.iter_mut().zip(sizes) {
            own.push(&mut grads[at * size..(at + 1) * size]);
        }
        let given = given.map(|of| Matrix::of(of, at));
        for row in 0..extents(q)[0] {
            backward_row(&place, row, &given, &mut own, Rounding::to(q.dtype));
        }
    }
    grads
}

/// Adds what one query gives to the gradients of its place.
fn backward_row(
    place: &Place<'_>,
    row: usize,
    [grad, output, statistics]: &[Matrix; 3],
    grads: &mut [&mut [Expected]],
    rounding: Rounding,
) {
    let [query, key, value] = &place.operands;
    let [largest, log_sum] = [0, 1].map(|of| statistics.row(row)[of]);
    let scores = place.scores(row);
    let (keys, queries) = (scores.len(), query.values.len() / query.columns.max(1));
    let [mean, mean_size] = dot(grad.row(row), output.row(row));
    let add = |to: &mut [Expected], from: &[f64], factor: f64, error: f64, terms: usize| {
        for (to, from) in to.iter_mut().zip(from) {
            to.value += factor * from;
            to.mass += from.abs() * (error + factor.abs() * (count(terms) + 3.0));
            to.room += from.abs() * rounding.of(factor);
        }
    };
    for (at, (score, error)) in scores.into_iter().enumerate() {
        // A masked key adds nothing, whatever the query.
        if score == f64::NEG_INFINITY {
            continue;
        }
        let below = score - largest - log_sum;
        let weight = below.exp();
        let error = error + cost(below) + (score - largest).abs();
        let [product, size] = dot(grad.row(row), value.row(at));
        let sums = (count(value.columns) + 2.0) * (size + mean_size);
        let slope = weight * (product - mean);
        let of_slope = weight * (sums + (product - mean).abs() * (error + 4.0));
        let scaled = [slope, of_slope].map(|of| of * place.scale.abs());
        let [slope, of_slope] = [scaled[0] * place.scale.signum(), scaled[1]];
        let [width, columns] = [query.columns, value.columns];
        add(&mut grads[0][row * width..][..width], key.row(at), slope, of_slope, keys);
        add(&mut grads[1][at * width..][..width], query.row(row), slope, of_slope, queries);
        let to = &mut grads[2][at * columns..][..columns];
        add(to, grad.row(row), weight, weight * error, queries);
    }
}
