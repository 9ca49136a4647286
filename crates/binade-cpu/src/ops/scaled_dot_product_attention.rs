//! Scaled dot-product attention, a block of queries after the other: scores of all queries are never in memory at once.
//!
//! Scores and weights are f32. For bf16 operands, weights and gradients of scores are rounded to bf16 before a product, as in torch's CPU kernel, so
//! that both factors have one type.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor,
    elementary::exponentials,
    parallel,
    pool::Buffer,
    product::{Elements, Matrix, PER_OPERATION, add_product, product},
    reduce, simd,
};
use binade_core::ops::{
    AttentionConfig, AttentionGrads, AttentionOutput, OpInvocation, ScaledDotProductAttention,
    shape::MaskLayout,
};
use binade_core::{DType, TensorSpec};
use half::bf16;
use std::ops::Range;

/// Queries of a block.
const BLOCK: usize = 64;

/// Cost of an exponential.
const EXPONENTIAL: usize = 4;

/// Number of parts that a backward pass is divided into, if there are blocks enough. It depends only on shapes, so results do not depend on the
/// number of threads.
const PARTS: usize = 8;

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
            blocks[range].iter().cloned().map(forward).collect::<Vec<_>>()
        });
        let joined = |which: usize| {
            let parts = results.iter().flatten().map(|results| &results[which][..]);
            parts.collect::<Vec<_>>().concat()
        };
        let of_rows = [&shape[..shape.len() - 1], &[2]].concat();
        Ok(AttentionOutput {
            output: Tensor::from_f32(joined(0), &shape, dtype)?,
            statistics: Tensor::from_f32(joined(1), &of_rows, DType::F32)?,
        })
    }

    fn scaled_dot_product_attention_backward(
        &self,
        grad: &Tensor,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        output: &Tensor,
        statistics: &Tensor,
        mask: Option<&Tensor>,
        config: AttentionConfig,
    ) -> Result<AttentionGrads<Tensor>, Error> {
        let call = OpInvocation::ScaledDotProductAttentionBackward { config };
        let operands = [grad, query, key, value, output, statistics].into_iter().chain(mask);
        let dtype = check(&call, &operands.collect::<Vec<_>>())?.dtype;
        let attention = Attention::new([query, key, value], mask, config);
        let given = [grad, output, statistics].map(Matrices::of);
        let is_empty = [query, key, value].iter().all(|of| of.is_empty());
        let (places, parts) = (if is_empty { 0 } else { attention.places }, attention.parts());
        let cost = attention.cost(attention.query.rows) / parts;
        let grads = parallel::partials(places * parts, cost, |tasks| {
            let task = |task| attention.backward(task / parts, task % parts, &given);
            tasks.map(task).collect::<Vec<_>>()
        });
        let grads: Vec<_> = grads.into_iter().flatten().collect();
        let joined = |operand: &Tensor, join: &dyn Fn(&[Part]) -> Vec<f32>| {
            let each: Vec<_> = grads.chunks(parts).map(join).collect();
            Tensor::from_f32(each.concat(), operand.shape(), dtype)
        };
        Ok(AttentionGrads {
            query: joined(query, &|parts| attention.interleaved(parts))?,
            key: joined(key, &|parts| added(parts.iter().map(|part| &part.key)))?,
            value: joined(value, &|parts| added(parts.iter().map(|part| &part.value)))?,
        })
    }
}

/// Matrices of a tensor's last two axes.
struct Matrices<'a> {
    elements: Elements<'a>,
    rows: usize,
    columns: usize,
}

impl<'a> Matrices<'a> {
    fn of(tensor: &'a Tensor) -> Self {
        let (rows, columns) = match tensor.shape() {
            [.., rows, columns] => (*rows, *columns),
            _ => (0, 0),
        };
        Self { elements: Elements::of(tensor), rows, columns }
    }

    /// Returns these rows of matrix `place`.
    fn rows(&self, place: usize, rows: &Range<usize>) -> Matrix<'_> {
        Matrix::new(self.elements_of(place, rows), rows.len(), self.columns)
    }

    /// Returns the elements of these rows of matrix `place`.
    fn elements_of(&self, place: usize, rows: &Range<usize>) -> Elements<'a> {
        let at = |row: usize| (place * self.rows + row) * self.columns;
        self.elements.range(at(rows.start)..at(rows.end))
    }

    fn zeros(&self) -> Vec<f32> {
        vec![0.0; self.rows * self.columns]
    }
}

/// Operands of one call.
struct Attention<'a> {
    query: Matrices<'a>,
    key: Matrices<'a>,
    value: Matrices<'a>,
    mask: Option<(&'a Tensor, MaskLayout)>,
    scale: f32,
    causal: bool,
    /// Number of matrices of each operand.
    places: usize,
}

impl<'a> Attention<'a> {
    fn new(operands: [&'a Tensor; 3], mask: Option<&'a Tensor>, config: AttentionConfig) -> Self {
        let [query, key, value] = operands.map(Matrices::of);
        let shape = operands[0].shape();
        let scale = config.scale_for(query.columns);
        let places = shape.iter().rev().skip(2).product();
        let mask = mask.and_then(|mask| Some((mask, MaskLayout::of(shape, mask.shape())?)));
        Self { query, key, value, mask, scale, causal: config.causal, places }
    }

    /// Returns the place and the queries of each block.
    fn blocks(&self) -> Vec<(usize, Range<usize>)> {
        let rows = self.query.rows;
        let of_place = |place| {
            (0..rows).step_by(BLOCK).map(move |first| (place, first..rows.min(first + BLOCK)))
        };
        let places = if rows == 0 { 0 } else { self.places };
        (0..places).flat_map(of_place).collect()
    }

    /// Returns the cost of `rows` queries.
    fn cost(&self, rows: usize) -> usize {
        let of_key = (self.query.columns + self.value.columns) / PER_OPERATION + EXPONENTIAL;
        rows.saturating_mul(self.key.rows.saturating_mul(of_key))
    }

    /// Computes the output and the statistics of a block.
    fn forward(&self, place: usize, rows: Range<usize>) -> [Vec<f32>; 2] {
        let mut block = self.scores(place, rows);
        let mut statistics = vec![[f32::NEG_INFINITY; 2]; block.rows.len()];
        block.each_row().zip(&mut statistics).for_each(|((_, row), of)| *of = softmax(row));
        let mut output = vec![0.0; block.rows.len() * self.value.columns];
        let weights = self.factor(block);
        product(weights.view(), self.value.rows(place, &(0..weights.keys)), &mut output);
        [output, statistics.concat()]
    }

    /// Returns the number of parts that the blocks of a place are dealt out to.
    fn parts(&self) -> usize {
        let blocks = self.query.rows.div_ceil(BLOCK).max(1);
        PARTS.div_ceil(self.places.max(1)).min(blocks)
    }

    /// Computes the gradients from the blocks of one part of a place. Of `n` parts each has every `n`-th block, so that parts are
    /// equal under a causal mask.
    ///
    /// `given` are the output's gradient, the output, and the statistics.
    fn backward(&self, place: usize, part: usize, given: &[Matrices<'_>; 3]) -> Part {
        let (key, value) = (self.key.zeros(), self.value.zeros());
        let mut grads = Part { query: Vec::new(), key, value };
        let width = self.query.columns;
        for first in (0..self.query.rows).step_by(BLOCK).skip(part).step_by(self.parts()) {
            let rows = first..self.query.rows.min(first + BLOCK);
            let both = self.slopes(place, rows.clone(), given);
            let [weights, slopes] = both.map(|scores| self.factor(scores));
            let keys = 0..weights.keys;
            let mut of_query = vec![0.0; rows.len() * width];
            product(slopes.view(), self.key.rows(place, &keys), &mut of_query);
            grads.query.extend(of_query);
            let of_key = &mut grads.key[..keys.end * width];
            let of_value = &mut grads.value[..keys.end * self.value.columns];
            add_product(slopes.view().transposed(), self.query.rows(place, &rows), of_key);
            add_product(weights.view().transposed(), given[0].rows(place, &rows), of_value);
        }
        grads
    }

    /// Returns the gradient of a place's queries, from blocks that were dealt out to its parts.
    fn interleaved(&self, parts: &[Part]) -> Vec<f32> {
        let block = BLOCK * self.query.columns;
        let mut each: Vec<_> = parts.iter().map(|part| part.query.chunks(block.max(1))).collect();
        let blocks = 0..self.query.rows.div_ceil(BLOCK);
        blocks.filter_map(|number| each[number % parts.len()].next()).collect::<Vec<_>>().concat()
    }

    /// Rounds scores, weights or gradients to the operands' type if that makes their products faster.
    fn factor(&self, scores: Scores) -> Factor {
        let Scores { values, rows, keys } = scores;
        let values = match self.value.elements {
            Elements::BF16(_) => {
                let mut low = Buffer::scratch(values.len());
                simd::narrow(&values, &mut low);
                Values::BF16(low)
            }
            _ => Values::F32(values),
        };
        Factor { values, rows: rows.len(), keys }
    }

    /// Computes a block's weights, and the gradients of its scores times the scale.
    fn slopes(&self, place: usize, rows: Range<usize>, given: &[Matrices<'_>; 3]) -> [Scores; 2] {
        let mut weights = self.scores(place, rows.clone());
        let mut slopes = Scores::scratch(rows.clone(), weights.keys);
        let given_rows = given.each_ref().map(|of| of.elements_of(place, &rows).to_f32());
        let [grad, output, statistics] = &given_rows;
        let (width, of_grad) = (self.value.columns, given[0].rows(place, &rows));
        let values = self.value.rows(place, &(0..weights.keys));
        product(of_grad, values.transposed(), &mut slopes.values);
        let each = weights.each_row().zip(slopes.each_row()).enumerate();
        for (row, ((_, weights), (_, slopes))) in each {
            let terms = grad[row * width..][..width].iter().zip(&output[row * width..]);
            let mean = reduce::round(terms.map(|(g, y)| f64::from(*g) * f64::from(*y)).sum());
            let [largest, log_sum] = [statistics[2 * row], statistics[2 * row + 1]];
            for (score, slope) in weights.iter_mut().zip(&mut *slopes) {
                // A key that is left out has weight 0, whatever the others are.
                let is_left_out = *score == f32::NEG_INFINITY;
                *score = if is_left_out { *score } else { *score - largest - log_sum };
                *slope = if is_left_out { 0.0 } else { *slope - mean };
            }
            exponentials(weights, 0.0);
            slopes
                .iter_mut()
                .zip(weights)
                .for_each(|(slope, weight)| *slope *= *weight * self.scale);
        }
        [weights, slopes]
    }

    /// Computes the scores of queries `rows` and of the keys that the last of them may attend to.
    fn scores(&self, place: usize, rows: Range<usize>) -> Scores {
        let keys = if self.causal { self.key.rows.min(rows.end) } else { self.key.rows };
        let mut scores = Scores::scratch(rows, keys);
        let key = self.key.rows(place, &(0..keys));
        let query = self.query.rows(place, &scores.rows);
        product(query, key.transposed(), &mut scores.values);
        for (row, scores) in scores.each_row() {
            let (seen, unseen) =
                scores.split_at_mut(if self.causal { keys.min(row + 1) } else { keys });
            unseen.fill(f32::NEG_INFINITY);
            for score in seen.iter_mut() {
                *score *= self.scale;
            }
            if let Some((mask, layout)) = &self.mask {
                let start = layout.row(place, row, self.query.rows) * self.key.rows;
                let terms = mask.range_to_f32(start..start + keys);
                seen.iter_mut().zip(&*terms).for_each(|(score, term)| *score += term);
            }
        }
        scores
    }
}

/// Gradients from one part of the blocks: those of its queries, and of all keys and values.
struct Part {
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
}

/// Adds up the parts' gradients, in order.
fn added<'a>(mut parts: impl Iterator<Item = &'a Vec<f32>>) -> Vec<f32> {
    let mut sum = parts.next().cloned().unwrap_or_default();
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, term)| *sum += term);
    }
    sum
}

/// Scores of a block of queries with the first keys, or their weights or gradients in the same places.
struct Scores {
    values: Buffer<f32>,
    rows: Range<usize>,
    keys: usize,
}

impl Scores {
    /// Returns a place for scores, with any values.
    fn scratch(rows: Range<usize>, keys: usize) -> Self {
        Self { values: Buffer::scratch(rows.len() * keys), rows, keys }
    }

    /// Returns each query's number and scores.
    fn each_row(&mut self) -> impl Iterator<Item = (usize, &mut [f32])> {
        let chunks = self.values.chunks_mut(self.keys.max(1));
        self.rows.clone().zip(chunks)
    }
}

/// Matrix of scores, weights or gradients that is multiplied.
struct Factor {
    values: Values,
    rows: usize,
    keys: usize,
}

enum Values {
    F32(Buffer<f32>),
    BF16(Buffer<bf16>),
}

impl Factor {
    fn view(&self) -> Matrix<'_> {
        let elements = match &self.values {
            Values::F32(values) => Elements::F32(values),
            Values::BF16(values) => Elements::BF16(values),
        };
        Matrix::new(elements, self.rows, self.keys)
    }
}

/// Makes weights of a query's scores. Returns the largest score, and the logarithm of the sum of exponentials of the differences
/// from it.
fn softmax(row: &mut [f32]) -> [f32; 2] {
    if row.iter().all(|score| *score == f32::NEG_INFINITY) {
        row.fill(0.0);
        return [f32::NEG_INFINITY; 2];
    }
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    exponentials(row, largest);
    let sum = reduce::run(row, f64::from);
    let factor = reduce::round(sum.recip());
    for weight in row.iter_mut() {
        *weight *= factor;
    }
    let log_sum = reduce::round(sum.ln());
    [if log_sum.is_nan() { f32::NAN } else { largest }, log_sum]
}
