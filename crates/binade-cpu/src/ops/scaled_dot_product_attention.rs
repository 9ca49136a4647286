//! Scaled dot-product attention, a block of queries after the other: scores of all queries are never in memory at once.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{self, PER_OPERATION, add_product, matrix},
};
use binade_core::ops::{
    AttentionConfig, AttentionGrads, AttentionOutput, OpInvocation, ScaledDotProductAttention,
    shape::MaskLayout,
};
use binade_core::{DType, TensorSpec};
use ndarray::ArrayView2;
use std::borrow::Cow;
use std::ops::Range;

/// Queries of a block.
const BLOCK: usize = 64;

impl ScaledDotProductAttention for Cpu {
    fn scaled_dot_product_attention(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: Option<&Tensor>,
        config: AttentionConfig,
    ) -> Result<AttentionOutput<Tensor>, Error> {
        let call = OpInvocation::ScaledDotProductAttention { config };
        let operands: Vec<_> = [query, key, value].into_iter().chain(mask).collect();
        let TensorSpec { dtype, shape } = check(&call, &operands)?;
        let attention = Attention::new([query, key, value], mask, config);
        let blocks = attention.blocks();
        let results = parallel::partials(blocks.len(), attention.cost(BLOCK), |range| {
            let forward = |(place, rows)| attention.forward(place, rows);
            blocks[range].iter().cloned().map(forward).unzip::<_, _, Vec<_>, Vec<_>>()
        });
        let (output, log_sums): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let rows = &shape[..shape.len() - 1];
        Ok(AttentionOutput {
            output: Tensor::from_f32(output.concat().concat(), &shape, dtype)?,
            log_sum_exp: Tensor::from_f32(log_sums.concat().concat(), rows, DType::F32)?,
        })
    }

    fn scaled_dot_product_attention_backward(
        &self,
        grad: &Tensor,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        output: &Tensor,
        log_sum_exp: &Tensor,
        mask: Option<&Tensor>,
        config: AttentionConfig,
    ) -> Result<AttentionGrads<Tensor>, Error> {
        let call = OpInvocation::ScaledDotProductAttentionBackward { config };
        let operands = [grad, query, key, value, output, log_sum_exp].into_iter().chain(mask);
        let dtype = check(&call, &operands.collect::<Vec<_>>())?.dtype;
        let attention = Attention::new([query, key, value], mask, config);
        let results = Results {
            grad: Matrices::of(grad),
            output: Matrices::of(output),
            log_sums: log_sum_exp.to_f32(),
        };
        let cost = attention.cost(attention.query.rows);
        let grads = parallel::partials(attention.places, cost, |places| {
            places.map(|place| attention.backward(place, &results)).collect::<Vec<_>>()
        });
        let like = |operand: &Tensor, which: usize| {
            let each = grads.iter().flatten().map(|grads| &grads[which][..]);
            Tensor::from_f32(each.collect::<Vec<_>>().concat(), operand.shape(), dtype)
        };
        Ok(AttentionGrads { query: like(query, 0)?, key: like(key, 1)?, value: like(value, 2)? })
    }
}

/// Matrices of a tensor's last two axes, widened.
struct Matrices<'a> {
    values: Cow<'a, [f32]>,
    rows: usize,
    columns: usize,
}

impl<'a> Matrices<'a> {
    fn of(tensor: &'a Tensor) -> Self {
        let (rows, columns) = match tensor.shape() {
            [.., rows, columns] => (*rows, *columns),
            _ => (0, 0),
        };
        Self { values: tensor.to_f32(), rows, columns }
    }

    /// Returns these rows of matrix `place`.
    fn rows(&self, place: usize, rows: &Range<usize>) -> ArrayView2<'_, f32> {
        let at = |row: usize| (place * self.rows + row) * self.columns;
        matrix(&self.values[at(rows.start)..at(rows.end)], rows.len(), self.columns)
    }
}

/// Tensors that backward takes besides the operands.
struct Results<'a> {
    grad: Matrices<'a>,
    output: Matrices<'a>,
    log_sums: Cow<'a, [f32]>,
}

/// Operands of one call.
struct Attention<'a> {
    query: Matrices<'a>,
    key: Matrices<'a>,
    value: Matrices<'a>,
    mask: Option<(Cow<'a, [f32]>, MaskLayout)>,
    factor: f32,
    causal: bool,
    /// Number of matrices of each operand.
    places: usize,
}

impl<'a> Attention<'a> {
    fn new(operands: [&'a Tensor; 3], mask: Option<&'a Tensor>, config: AttentionConfig) -> Self {
        let [query, key, value] = operands.map(Matrices::of);
        let shape = operands[0].shape();
        let layout = |mask: &'a Tensor| Some((mask.to_f32(), MaskLayout::of(shape, mask.shape())?));
        let factor = config.score_factor(query.columns);
        let places = shape.iter().rev().skip(2).product();
        let mask = mask.and_then(layout);
        Self { query, key, value, mask, factor, causal: config.causal, places }
    }

    /// Returns the place and the queries of each block.
    fn blocks(&self) -> Vec<(usize, Range<usize>)> {
        let rows = self.query.rows;
        let of_place = |place| {
            (0..rows).step_by(BLOCK).map(move |first| (place, first..rows.min(first + BLOCK)))
        };
        (0..self.places).flat_map(of_place).collect()
    }

    /// Returns the cost of `rows` queries.
    fn cost(&self, rows: usize) -> usize {
        let products = self.key.rows.saturating_mul(self.query.columns + self.value.columns);
        rows.saturating_mul(products / PER_OPERATION)
    }

    /// Computes the output and the logarithms of a block.
    fn forward(&self, place: usize, rows: Range<usize>) -> (Vec<f32>, Vec<f32>) {
        let mut block = self.scores(place, rows);
        let mut log_sums = vec![f32::NEG_INFINITY; block.rows.len()];
        block.each_row().zip(&mut log_sums).for_each(|((_, row), sum)| *sum = softmax(row));
        let mut output = vec![0.0; block.rows.len() * self.value.columns];
        add_product(&block.view(), &self.value.rows(place, &(0..block.keys)), &mut output);
        (output, log_sums)
    }

    /// Computes the gradients of query, key and value of one place, adding up those of keys block by block.
    fn backward(&self, place: usize, results: &Results<'_>) -> [Vec<f32>; 3] {
        let zeros = |of: &Matrices<'_>| vec![0.0; of.rows * of.columns];
        let mut grads = [&self.query, &self.key, &self.value].map(zeros);
        let [of_query, of_key, of_value] = &mut grads;
        for first in (0..self.query.rows).step_by(BLOCK) {
            let rows = first..self.query.rows.min(first + BLOCK);
            let of_query =
                &mut of_query[rows.start * self.query.columns..rows.end * self.query.columns];
            let [weights, slopes] = self.slopes(place, rows.clone(), results);
            let keys = 0..weights.keys;
            let [query, grad] = [&self.query, &results.grad].map(|it| it.rows(place, &rows));
            let of_key = &mut of_key[..keys.end * self.key.columns];
            let of_value = &mut of_value[..keys.end * self.value.columns];
            add_product(&slopes.view(), &self.key.rows(place, &keys), of_query);
            add_product(&slopes.view().reversed_axes(), &query, of_key);
            add_product(&weights.view().reversed_axes(), &grad, of_value);
        }
        grads
    }

    /// Computes a block's weights, and the gradients of its products of queries and keys.
    fn slopes(&self, place: usize, rows: Range<usize>, results: &Results<'_>) -> [Scores; 2] {
        let mut weights = self.scores(place, rows.clone());
        let log_sums = &results.log_sums[place * self.query.rows..];
        for (row, weights) in weights.each_row() {
            exponentials(weights, log_sums[row]);
        }
        let mut slopes = Scores::zeros(rows.clone(), weights.keys);
        let [grad, output] = [&results.grad, &results.output].map(|it| it.rows(place, &rows));
        let values = self.value.rows(place, &(0..weights.keys));
        add_product(&grad, &values.reversed_axes(), &mut slopes.values);
        for (row, slopes) in slopes.each_row() {
            let i = row - rows.start;
            let terms = grad.row(i).into_iter().zip(output.row(i));
            let mean = reduce::round(terms.map(|(g, y)| f64::from(*g) * f64::from(*y)).sum());
            for (slope, weight) in slopes.iter_mut().zip(weights.view().row(i)) {
                *slope = weight * (*slope - mean) * self.factor;
            }
        }
        [weights, slopes]
    }

    /// Computes the scores of queries `rows` and of the keys that the last of them may attend to.
    fn scores(&self, place: usize, rows: Range<usize>) -> Scores {
        let all = self.key.rows;
        let keys = if self.causal { all.min(rows.end) } else { all };
        let mut scores = Scores::zeros(rows, keys);
        let key = self.key.rows(place, &(0..keys));
        let query = self.query.rows(place, &scores.rows);
        add_product(&query, &key.reversed_axes(), &mut scores.values);
        for (row, scores) in scores.each_row() {
            for score in scores.iter_mut() {
                *score *= self.factor;
            }
            if let Some((mask, layout)) = &self.mask {
                let rows = if layout.has_rows { self.query.rows } else { 1 };
                let row = layout.matrix(place) * rows + if layout.has_rows { row } else { 0 };
                scores.iter_mut().zip(&mask[row * all..]).for_each(|(score, term)| *score += term);
            }
            if self.causal {
                scores.iter_mut().skip(row + 1).for_each(|score| *score = f32::NEG_INFINITY);
            }
        }
        scores
    }
}

/// Scores of a block of queries with the first keys, or their weights or gradients in the same places.
struct Scores {
    values: Vec<f32>,
    rows: Range<usize>,
    keys: usize,
}

impl Scores {
    fn zeros(rows: Range<usize>, keys: usize) -> Self {
        Self { values: vec![0.0; rows.len() * keys], rows, keys }
    }

    fn view(&self) -> ArrayView2<'_, f32> {
        matrix(&self.values, self.rows.len(), self.keys)
    }

    /// Returns each query's number and scores.
    fn each_row(&mut self) -> impl Iterator<Item = (usize, &mut [f32])> {
        let chunks = self.values.chunks_mut(self.keys.max(1));
        self.rows.clone().zip(chunks)
    }
}

/// Makes weights of a query's scores, and returns the logarithm of the sum of their exponentials.
fn softmax(row: &mut [f32]) -> f32 {
    if row.iter().all(|score| *score == f32::NEG_INFINITY) {
        row.fill(0.0);
        return f32::NEG_INFINITY;
    }
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for score in row.iter_mut() {
        *score = (*score - max).exp();
    }
    let sum = reduce::run(row, f64::from);
    let factor = reduce::round(sum.recip());
    for weight in row.iter_mut() {
        *weight *= factor;
    }
    reduce::round(f64::from(max) + sum.ln())
}

/// Makes weights of a query's scores by the logarithm of the sum of their exponentials.
fn exponentials(row: &mut [f32], log_sum: f32) {
    if log_sum == f32::NEG_INFINITY {
        return row.fill(0.0);
    }
    for score in row {
        *score = (*score - log_sum).exp();
    }
}
