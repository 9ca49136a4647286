//! Attention: tiles and their edges, causal and masked, scores beyond the format, and queries without keys.
//!
//! The oracle works in `f64`, score by score. Errors are in units of 2^-24: a score's from its products, then that of its exponential by
//! [`cost`], then those of sums. Weights, and gradients of scores, may be rounded to the element type: [`Rounding`].

use super::prelude::*;
use super::softmax::cost;
use crate::OpInvocation::{
    ScaledDotProductAttention as Forward, ScaledDotProductAttentionBackward as Backward,
};
use binade_core::ops::{AttentionConfig, shape::MaskLayout};

/// Leading extents, and L, S, E, V.
const SIZES: &str = "1:1x1x1x1 3:2x3x4x5 2x2:7x9x8x8 2:33x65x16x24 1:66x34x31x33 1:70x130x72x70 0:2x3x4x4 2:0x3x4x4 2:3x0x4x4 \
    2:3x4x0x4 2:3x4x4x0";

/// Shapes of masks for queries `[2, 3, 5, E]` and nine keys.
const MASKS: &str = "5x9 1x9 2x1x1x9 2x1x5x9 1x3x5x9 1x3x1x9 2x3x5x9 1x1x5x9";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [lead, size] in sized(SIZES) {
            for causal in [false, true] {
                let kind = if causal { "causal" } else { "random" };
                let sentence = format!("{kind}_{}_of_{}", name(&lead), name(&size));
                let shape = Shape::new(&lead, &size);
                let config = AttentionConfig { causal, scale: None };
                cases.add(dtype, sentence, move |run| {
                    both(run, &shape.operands(dtype, [-1.5, 1.5]), None, config)
                });
            }
        }
        cases.starts(dtype, move |run, _, _| {
            let shape = Shape::new(&[2], &[5, 9, 7, 6]);
            both(run, &shape.operands(dtype, [-1.5, 1.5]), None, AttentionConfig::default())
        });
        masks(cases, dtype);
        edges(cases, dtype);
    }
    let config = AttentionConfig::default();
    mismatches(
        cases,
        [
            (
                Forward { config },
                "2x3 4x5 4x5, 2x3 4x3 5x3, 1x2x3 4x3 4x3, 1x2x3 2x4x3 1x4x3, 3 3 3, f16:2x3 4x3 4x3, 2x3 4x3 f16:4x3, \
                 2x3 4x3 4x3 3x4, 2x3 4x3 4x3 2x3, 2x3 4x3 4x3 4, f16:2x3 f16:4x3 f16:4x3 bf16:2x4, \
                 2x3x2x3 2x3x4x3 2x3x4x3 3x1x2x4, 2x3x2x2x3 2x3x2x4x3 2x3x2x4x3 2x1x2x2x4",
            ),
            (
                Backward { config },
                "2x5 2x3 4x3 4x5 2x4 2, 2x5 2x3 4x3 4x5 2x5 3, f16:2x5 2x3 4x3 4x5 2x5 2, 2x4 2x3 4x3 4x5 2x5 2",
            ),
        ],
    );
    let huge = format!("{HUGE}x0 0x0 0x4, {HUGE}x0 0x0 0x0");
    too_large(cases, [(Forward { config }, &*huge)]);
}

/// Adds cases of every layout of a mask, of either type, and of keys and queries that it leaves out.
fn masks(cases: &mut OpCases, dtype: DType) {
    let shape = || Shape::new(&[2, 3], &[5, 9, 4, 6]);
    for of_mask in shapes(MASKS) {
        cases.add(dtype, format!("mask_of_{}", name(&of_mask)), move |run| {
            let operands = shape().operands(dtype, [-1.5, 1.5]);
            [dtype, DType::F32].into_iter().zip([false, true]).try_for_each(|(of, causal)| {
                let mask = uniform(7, of, &of_mask, [-2.0, 2.0]).with(3, f64::NEG_INFINITY);
                both(run, &operands, Some(&mask), AttentionConfig { causal, scale: None })
            })
        });
    }
    let config = AttentionConfig::default();
    cases.add(dtype, "a_query_without_keys_has_output_0", move |run| {
        let operands = shape().operands(dtype, [-1.5, 1.5]);
        let masked = (0..45).map(|at| if at / 9 % 2 == 0 { f64::NEG_INFINITY } else { 0.5 });
        let mask = Stored::from_values(dtype, &[5, 9], masked);
        both(run, &operands, Some(&mask), config)
    });
    cases.add(dtype, "tiles_of_keys_may_be_left_out", move |run| {
        let operands = Shape::new(&[1], &[3, 200, 4, 4]).operands(dtype, [-1.5, 1.5]);
        let masked = (0..200).map(|key| if key < 130 { f64::NEG_INFINITY } else { 0.0 });
        let mask = Stored::from_values(dtype, &[1, 200], masked);
        both(run, &operands, Some(&mask), config)
    });
}

fn edges(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "scores_may_leave_the_range_of_sixteen_bits", move |run| {
        let [q, k] = [[5, 4], [9, 4]].map(|shape| uniform(1, dtype, &shape, [150.0, 250.0]));
        let v = uniform(3, dtype, &[9, 6], [-1.0, 1.0]);
        both(run, &[q, k, v], None, AttentionConfig { causal: false, scale: Some(0.5) })
    });
    cases.add(dtype, "the_scale_may_be_given", move |run| {
        let operands = Shape::new(&[2], &[5, 9, 16, 6]).operands(dtype, [-1.5, 1.5]);
        [0.0, 1.0, -0.75].into_iter().try_for_each(|scale| {
            both(run, &operands, None, AttentionConfig { causal: true, scale: Some(scale) })
        })
    });
    cases.add(dtype, "the_largest_score_may_come_last", move |run| {
        let [q, k, v] = Shape::new(&[1], &[3, 150, 1, 3]).operands(dtype, [0.5, 1.5]);
        let rising = (0..150).map(|key| f64::from(key) / 4.0);
        let k = Stored::from_values(dtype, &k.shape, rising);
        both(run, &[q, k, v], None, AttentionConfig::default())
    });
    cases.add(dtype, "equal_scores_give_the_mean", move |run| {
        let v = Stored::from_values(dtype, &[64, 2], (0..128).map(|i| f64::from(i % 2)));
        both(
            run,
            &[ones(dtype, &[3, 4]), ones(dtype, &[64, 4]), v],
            None,
            AttentionConfig::default(),
        )
    });
    cases.add(dtype, "a_nan_stays_with_its_query", move |run| {
        let [q, k, v] = Shape::new(&[2], &[5, 9, 4, 6]).operands(dtype, [-1.5, 1.5]);
        let operands = [&q.with(9, f64::NAN), &k, &v];
        let [output, log_sums] = forward(operands, None, AttentionConfig::default());
        let config = AttentionConfig::default();
        run.near(Forward { config }, &operands, [(dtype, output), (DType::F32, log_sums)])
    });
}

/// Extents of one call.
#[derive(Clone)]
struct Shape {
    query: Vec<usize>,
    key: Vec<usize>,
    value: Vec<usize>,
}

impl Shape {
    fn new(lead: &[usize], size: &[usize]) -> Self {
        let [query, key, value] =
            [[0, 2], [1, 2], [1, 3]].map(|of| [lead, &of.map(|axis| size[axis])].concat());
        Self { query, key, value }
    }

    fn operands(&self, dtype: DType, range: [f64; 2]) -> [Stored; 3] {
        let shapes = [(1, &self.query), (2, &self.key), (3, &self.value)];
        shapes.map(|(seed, shape)| uniform(seed, dtype, shape, range))
    }
}

/// Both results, and the gradients from the oracle's results and a gradient at random.
fn both(
    run: &mut OpRun<'_>,
    operands: &[Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> Verdict {
    let operands = operands.each_ref();
    let [q, k, v] = operands;
    let dtype = q.dtype;
    let [output, log_sums] = forward(operands, mask, config);
    let stored = |dtype: DType, shape: &[usize], of: &[Expected]| {
        Stored::from_values(dtype, shape, of.iter().map(|of| of.value))
    };
    let rows = &q.shape[..q.shape.len() - 1];
    let shape = [rows, &v.shape[v.shape.len() - 1..]].concat();
    let (y, l) = (stored(dtype, &shape, &output), stored(DType::F32, rows, &log_sums));
    let all = operands.into_iter().chain(mask).collect::<Vec<_>>();
    run.near(Forward { config }, &all, [(dtype, output), (DType::F32, log_sums)])?;
    let g = uniform(5, dtype, &shape, [-1.0, 1.0]);
    let all = [&g, q, k, v, &y, &l].into_iter().chain(mask).collect::<Vec<_>>();
    let wanted = backward(operands, [&g, &y, &l], mask, config);
    run.near(Backward { config }, &all, wanted.map(|wanted| (dtype, wanted)))
}

// The oracle.

/// A rounding of factors to the element type: `share` of each, and `least` of one, in units of 2^-24.
#[derive(Clone, Copy)]
struct Rounding {
    share: f64,
    least: f64,
}

impl Rounding {
    fn to(dtype: DType) -> Self {
        let (share, least) = match dtype {
            DType::BF16 => (2.0_f64.powi(15), 0.0),
            // Subnormals are a multiple of 2^-24.
            DType::F16 => (2.0_f64.powi(13), 0.5),
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

/// The scores of one query: each score, −∞ where the key is left out, and its error.
fn scores(
    [q, k, _]: [&Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
    (place, row): (usize, usize),
) -> Vec<(f64, f64)> {
    let (queries, keys) = (Matrix::of(q, place), Matrix::of(k, place));
    let factor = f64::from(config.score_factor(queries.columns));
    let term = |key: usize, count: usize| {
        let Some(mask) = mask else { return 0.0 };
        let Some(layout) = MaskLayout::of(&q.shape, &mask.shape) else { return f64::NAN };
        let row = if layout.has_rows { row } else { 0 };
        Matrix::of(mask, layout.matrix(place)).row(row)[key % count]
    };
    let [.., count_of_keys, _] = k.shape[..] else { return Vec::new() };
    let one = |key: usize| {
        if config.causal && key > row {
            return (f64::NEG_INFINITY, 0.0);
        }
        let [sum, size] = dot(queries.row(row), keys.row(key)).map(|of| of * factor);
        let score = sum + term(key, count_of_keys);
        let error = (count(queries.columns) + 2.0) * size.abs() + score.abs();
        if score == f64::NEG_INFINITY { (score, 0.0) } else { (score, error) }
    };
    (0..count_of_keys).map(one).collect()
}

/// Places and rows of all queries.
fn each_query(q: &Stored) -> impl Iterator<Item = (usize, usize)> {
    let rows = q.shape[q.shape.len() - 2];
    let places: usize = q.shape.iter().rev().skip(2).product();
    (0..places).flat_map(move |place| (0..rows).map(move |row| (place, row)))
}

/// Output and logarithms.
fn forward(
    operands @ [q, _, v]: [&Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> [Vec<Expected>; 2] {
    let (mut output, mut log_sums) = (Vec::new(), Vec::new());
    for at @ (place, _) in each_query(q) {
        let row = scores(operands, mask, config, at);
        let values = Matrix::of(v, place);
        if row.iter().all(|(score, _)| *score == f64::NEG_INFINITY) {
            output.extend(vec![Expected::exactly(0.0); values.columns]);
            log_sums.push(Expected::exactly(f64::NEG_INFINITY));
            continue;
        }
        let max = row.iter().fold(f64::NEG_INFINITY, |max, (score, _)| max.max(*score));
        let sum: f64 = row.iter().map(|(score, _)| (score - max).exp()).sum();
        let log_sum = max + sum.ln();
        // The weight of each key, and its relative error but for that of the sum.
        let weights: Vec<(f64, f64)> = row
            .iter()
            .map(|(score, error)| ((score - max).exp() / sum, error + cost(score - max)))
            .collect();
        // A tile has eight keys or more; each brings an exponential for what was summed before.
        let keys = count(weights.len());
        let doubt =
            2.0 * keys + 8.0 + weights.iter().map(|(weight, error)| weight * error).sum::<f64>();
        let rounding = Rounding::to(q.dtype);
        output.extend((0..values.columns).map(|column| {
            let (mut value, mut size) = (0.0, 0.0);
            for (key, (weight, error)) in weights.iter().enumerate() {
                let v = values.row(key)[column];
                value += weight * v;
                size += v.abs() * (weight * (error + doubt + keys) + rounding.of(*weight));
            }
            Expected::near(value, size)
        }));
        log_sums.push(Expected::near(log_sum, doubt + 2.0 * (log_sum.abs() + max.abs())));
    }
    [output, log_sums]
}

/// Gradients of query, key and value from the gradient, the output and its logarithms.
fn backward(
    operands @ [q, k, v]: [&Stored; 3],
    [g, y, l]: [&Stored; 3],
    mask: Option<&Stored>,
    config: AttentionConfig,
) -> [Vec<Expected>; 3] {
    let zeros = |of: &Stored| vec![Expected::exactly(0.0); of.len()];
    let [mut of_q, mut of_k, mut of_v] = operands.map(zeros);
    let [queries, keys] = [q, k].map(|of| of.shape[of.shape.len() - 2]);
    let log_sums = values(l);
    let rounding = Rounding::to(q.dtype);
    let add = |to: &mut [Expected], from: &[f64], factor: f64, error: f64, terms: usize| {
        for (to, from) in to.iter_mut().zip(from) {
            to.value += factor * from;
            to.mass +=
                from.abs() * (error + rounding.of(factor) + factor.abs() * (count(terms) + 2.0));
        }
    };
    for at @ (place, row) in each_query(q) {
        let log_sum = log_sums[place * queries + row];
        if log_sum == f64::NEG_INFINITY {
            continue;
        }
        let [query, key, value, grad, output] = [q, k, v, g, y].map(|of| Matrix::of(of, place));
        let factor = f64::from(config.score_factor(query.columns));
        let [mean, mean_size] = dot(grad.row(row), output.row(row));
        for (of_key, (score, error)) in scores(operands, mask, config, at).into_iter().enumerate() {
            let weight = (score - log_sum).exp();
            let error = error + cost(score - log_sum) + 2.0 * log_sum.abs();
            let [product, size] = dot(grad.row(row), value.row(of_key));
            let sums = (count(value.columns) + 2.0) * (size + mean_size);
            let slope = weight * (product - mean) * factor;
            let of_slope = weight * factor.abs() * (sums + (product - mean).abs() * (error + 4.0));
            let width = query.columns;
            let at_key = place * keys + of_key;
            let to = &mut of_q[(place * queries + row) * width..][..width];
            add(to, key.row(of_key), slope, of_slope, keys);
            add(&mut of_k[at_key * width..][..width], query.row(row), slope, of_slope, queries);
            let to = &mut of_v[at_key * value.columns..][..value.columns];
            add(to, grad.row(row), weight, weight * error, queries);
        }
    }
    [of_q, of_k, of_v]
}
