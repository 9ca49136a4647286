//! Subjects whose operations are wrong in one way each.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Toy, plain};
use crate::toy_images::{convolve, pool, pool_back};
use crate::toy_ops::{
    count, dropout, i64s, indices, linear, linear_back, map, matmul, scattered, total, zip,
};
use crate::toy_rows::{batch_norm, by_row, cross_entropy_back, layer_norm, softmax, variance};
use binade_conformance::{OpInvocation, Result, Subject, SubjectError};
use binade_core::{DType, ErrorKind};
use binade_grad_scaler::ScaleState;
use half::f16;

/// The toy, with one operation done otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slip {
    SumsInF16,
    MultipliesInF16,
    ForgetsTheCountOfTheMean,
    ExponentiatesAtOnce,
    SubtractsSquaredMeans,
    NormalisesUnbiased,
    RunsBiased,
    MakesGeluOfTanh,
    PassesTheGradientAtZero,
    MakesNanZero,
    MakesNanZeroBehindALayer,
    AddsUpTheBatch,
    DropsWithoutScaling,
    DropsByTheNextCounter,
    DropsByMultiplying,
    KeepsTheLastDuplicate,
    AddsDuplicatesInF16,
    PoolsPastNan,
    GivesToEveryTie,
    SumsTheBiasOverColumns,
    FlipsTheKernel,
    TakesAnyLabel,
    WrapsTheCountOfElements,
    ReadsE5m2AsE4m3,
    AddsTheEndOfTheVector,
    SumsTheFirst8192,
    GivesMaskedRowsNoLoss,
    TruncatesWhatFills,
    LosesNanOfGradients,
    RoundsTheBiasHalfUp,
    ForgetsRowsBehind2048,
    ForgetsTheSeventhColumn,
    StartsSumsAboveZero,
    TakesAnyIndex,
    FillsUpWithTheLowest,
    ForgetsRowsBehindAMillion,
    ReadsBehindTheRow,
    FlushesBehindTheBias,
}

impl Fault for Slip {
    fn scale(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        match (self, tensor.dtype()) {
            (Self::ReadsE5m2AsE4m3, DType::E5M2) => {
                Toy.scale(&plain(&tensor.to_bits(), DType::E4M3, tensor.shape()), scale)
            }
            _ => Toy.scale(tensor, scale),
        }
    }

    /// Refuses what the toy refuses.
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Vec<Plain>> {
        let right = Toy.compute(op, operands);
        match (self, &right) {
            (Self::TakesAnyLabel, Err(SubjectError::Rejected(..))) => {
                any_label(op, operands, right)
            }
            (
                Self::WrapsTheCountOfElements,
                Err(SubjectError::Rejected(ErrorKind::InvalidArgument, why)),
            ) if why.contains("larger than any memory") => {
                Ok(vec![Plain::write(&[], DType::F32, &[0])])
            }
            (Self::TakesAnyIndex, Err(SubjectError::Rejected(..))) => {
                any_index(op, operands, right)
            }
            (_, Err(_)) => right,
            _ => self.slip(op, operands).unwrap_or(right),
        }
    }
}

impl Slip {
    /// Results of this fault where it goes wrong.
    fn slip(self, op: &OpInvocation, t: &[&Plain]) -> Option<Result<Vec<Plain>>> {
        use OpInvocation as C;
        Some(Ok(vec![match (self, op, t) {
            (Self::SumsInF16, C::Sum, [x]) => Plain::write(&[in_f16(&x.read())], DType::F32, &[]),
            (Self::MultipliesInF16, C::MatMul, [a, b]) => matmul(a, b, in_f16),
            (Self::ForgetsTheCountOfTheMean, C::MeanBackward { shape, dtype }, [g]) => {
                Plain::write(&vec![g.read()[0]; shape.iter().product()], *dtype, shape)
            }
            (Self::ExponentiatesAtOnce, C::Softmax, [x]) => by_row(x, |x| {
                let terms: Vec<f32> = x.iter().map(|x| x.exp()).collect();
                terms.iter().map(|term| term / total(&terms)).collect()
            }),
            (Self::SubtractsSquaredMeans, C::LayerNorm { eps }, [x, w, b]) => {
                layer_norm(x, w, b, *eps, |x, mean| {
                    total(&x.iter().map(|x| x * x).collect::<Vec<f32>>()) / count(x.len())
                        - mean * mean
                })
            }
            (Self::MakesGeluOfTanh, C::Gelu, [x]) => map(x, |x| {
                // Hendrycks and Gimpel's approximation, which torch has under another name.
                let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + inner.tanh())
            }),
            (Self::PassesTheGradientAtZero, C::ReluBackward, [g, y]) => {
                zip(g, y, |g, y| if y < 0.0 { 0.0 } else { g })
            }
            // `fmax(x, 0)`, as a library's activation may have it.
            (Self::MakesNanZeroBehindALayer, C::LinearRelu, [x, w, b @ ..]) => {
                map(&linear(x, w, b.first().copied()), |x| x.max(0.0))
            }
            (Self::AddsTheEndOfTheVector, C::Sum | C::Mean | C::MseLoss, [x, ..]) => {
                let right = Toy.compute(op, t).ok()?[0].read()[0];
                let end = if x.read().len().is_multiple_of(8) { 0.0 } else { 2.0_f32.powi(-24) };
                Plain::write(&[right + end], DType::F32, &[])
            }
            (Self::SumsTheFirst8192, C::Softmax, [x]) => by_row(x, |x| {
                let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let terms: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
                let sum = total(&terms[..terms.len().min(8192)]);
                terms.iter().map(|term| term / sum).collect()
            }),
            // Whole vectors of eight, which minus infinity would fill up with nothing.
            (Self::FillsUpWithTheLowest, C::Softmax, [x]) => by_row(x, |x| {
                let whole = x.len().next_multiple_of(8);
                let mut filled = x.to_vec();
                filled.resize(whole, f32::MIN);
                softmax(&filled)[..x.len()].to_vec()
            }),
            // The first element of the row below, multiplied by what fills up the other operand.
            (Self::ReadsBehindTheRow, C::Bmm, [a, b]) => {
                let (right, values) = (Toy.compute(op, t).ok()?.remove(0), a.read());
                let [inner, columns] = [a, b].map(|x| x.shape()[x.shape().len() - 1]);
                let below = |row: usize| values.get((row + 1) * inner).unwrap_or(&0.0);
                let cells = right.read().into_iter().enumerate();
                let leaked = cells.map(|(i, x)| x + 0.0 * below(i / columns));
                Plain::write(&leaked.collect::<Vec<f32>>(), right.dtype(), right.shape())
            }
            (Self::FlushesBehindTheBias, C::BiasAdd, _) => {
                let sums = Toy.compute(op, t).ok()?.remove(0);
                map(&sums, |x| if x.is_subnormal() { 0.0 } else { x })
            }
            (Self::GivesMaskedRowsNoLoss, C::CrossEntropy, [x, _])
                if x.read().iter().all(|x| *x == f32::NEG_INFINITY) && !x.read().is_empty() =>
            {
                Plain::write(&[0.0], DType::F32, &[])
            }
            (Self::MakesNanZero, C::Relu, [x]) => map(x, |x| if x > 0.0 { x } else { 0.0 }),
            (Self::PoolsPastNan, C::MaxPool2d { config }, [x]) => {
                let numbers = map(x, |x| if x.is_nan() { f32::NEG_INFINITY } else { x });
                pool(&numbers, *config)
            }
            (Self::GivesToEveryTie, C::MaxPool2dBackward { config }, [g, x]) => {
                pool_back(g, x, *config, true)
            }
            (Self::FlipsTheKernel, C::Conv2d { config }, [x, w, b @ ..]) => {
                let last = [w.shape()[2] - 1, w.shape()[3] - 1];
                let turn = |tap: [usize; 2]| [last[0] - tap[0], last[1] - tap[1]];
                convolve(x, w, b.first().copied(), *config, turn)
            }
            (Self::TruncatesWhatFills, C::Fill { value, shape, dtype }, _) => {
                let cut = f32::from_bits(value.to_bits() & 0xffe0_0000);
                Plain::write(&vec![cut; shape.iter().product()], *dtype, shape)
            }
            (Self::ForgetsTheSeventhColumn, C::Linear, [x, w, b @ ..]) => {
                let result = linear(x, w, b.first().copied());
                let width = w.shape()[0];
                let mut values = result.read();
                values.iter_mut().skip(6).step_by(width.max(1)).for_each(|x| *x = 0.0);
                if width == 7 { Plain::write(&values, x.dtype(), result.shape()) } else { result }
            }
            _ => return self.of_keys(op, t).or_else(|| self.of_many(op, t)),
        }]))
    }

    /// Operations that take a key or indices.
    fn of_keys(self, op: &OpInvocation, t: &[&Plain]) -> Option<Result<Vec<Plain>>> {
        use OpInvocation as C;
        let result = match (self, op, t) {
            (Self::DropsWithoutScaling, C::Dropout { p }, [x, key]) => dropout(x, key, *p, 1.0),
            (Self::DropsByTheNextCounter, C::DropoutBackward { p }, [x, key]) => {
                let words = i64s(key);
                let words = [words[0], words[1].wrapping_add(1)];
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                dropout(x, &plain(&bytes, DType::I64, key.shape()), *p, 1.0 / (1.0 - p))
            }
            (Self::DropsByMultiplying, C::Dropout { p }, [x, key]) => {
                let ones = Plain::write(&vec![1.0; x.read().len()], DType::F32, x.shape());
                zip(x, &dropout(&ones, key, *p, 1.0 / (1.0 - p)), |x, mask| x * mask)
            }
            (Self::KeepsTheLastDuplicate, C::EmbeddingBackward { rows }, [g, at]) => {
                scattered(g, &indices(at, *rows).ok()?, *rows, |_, g| g)
            }
            (Self::AddsDuplicatesInF16, C::EmbeddingBackward { rows }, [g, at]) => {
                let sum = |sum: f32, g: f32| f16::from_f32(sum + g).to_f32();
                scattered(g, &indices(at, *rows).ok()?, *rows, sum)
            }
            (Self::ForgetsRowsBehindAMillion, C::EmbeddingBackward { .. }, _) => {
                let right = Toy.compute(op, t).ok()?.remove(0);
                let mut values = right.read();
                values.iter_mut().skip(right.shape()[1] << 20).for_each(|g| *g = 0.0);
                Plain::write(&values, right.dtype(), right.shape())
            }
            (Self::StartsSumsAboveZero, C::EmbeddingBackward { rows }, [g, at]) => {
                let sum = |sum: f32, g: f32| sum + g + f32::from_bits(1);
                scattered(g, &indices(at, *rows).ok()?, *rows, sum)
            }
            (Self::AddsUpTheBatch, C::CrossEntropyBackward, [g, x, labels]) => {
                return Some(cross_entropy_back(g.read()[0], x, labels));
            }
            _ => return None,
        };
        Some(Ok(vec![result]))
    }

    /// Operations of several results.
    fn of_many(self, op: &OpInvocation, t: &[&Plain]) -> Option<Result<Vec<Plain>>> {
        use OpInvocation as C;
        match (self, op, t) {
            (Self::NormalisesUnbiased, C::BatchNorm { config }, [x, w, b, mean, var]) => {
                let unbiased =
                    |x: &[f32], mean| variance(x, mean) * count(x.len()) / (count(x.len()) - 1.0);
                Some(Ok(batch_norm([x, w, b], [mean, var], config.momentum, config.eps, unbiased)))
            }
            (Self::RunsBiased, C::BatchNorm { config }, [x, _, _, _, old]) => {
                let mut right = Toy.compute(op, t).ok()?;
                let n = count(x.read().len()) / count(x.shape()[1]);
                let kept: Vec<f32> =
                    old.read().iter().map(|old| (1.0 - config.momentum) * old).collect();
                let var = right[2].read();
                let var =
                    var.iter().zip(kept).map(|(var, kept)| kept + (var - kept) * (n - 1.0) / n);
                right[2] = Plain::write(&var.collect::<Vec<f32>>(), DType::F32, right[2].shape());
                Some(Ok(right))
            }
            (Self::LosesNanOfGradients, C::Conv2dBackward { .. }, [g, x, w]) => {
                let numbers = map(g, |g| if g.is_nan() { 0.0 } else { g });
                Some(Toy.compute(op, &[&numbers, x, w]))
            }
            (Self::RoundsTheBiasHalfUp, C::LinearBackward { bias: true }, [g, x, w]) => {
                let mut grads = linear_back(g, x, w, true, true);
                let wide = Plain::write(&g.read(), DType::F32, g.shape());
                let sums = linear_back(&wide, x, w, true, true)[2].read();
                // One unit of f32 more: ties go up.
                let up: Vec<f32> =
                    sums.iter().map(|sum| f32::from_bits(sum.to_bits() + 1)).collect();
                grads[2] = Plain::write(&up, g.dtype(), grads[2].shape());
                Some(Ok(grads))
            }
            (Self::ForgetsRowsBehind2048, C::LinearBackward { bias: true }, [g, x, w]) => {
                let mut grads = Toy.compute(op, t).ok()?;
                let mut values = g.read();
                values.iter_mut().skip(2048 * w.shape()[0]).for_each(|g| *g = 0.0);
                let first = Plain::write(&values, g.dtype(), g.shape());
                grads[2] = linear_back(&first, x, w, true, true)[2].clone();
                Some(Ok(grads))
            }
            (Self::SumsTheBiasOverColumns, C::LinearBackward { bias }, [g, x, w]) => {
                Some(Ok(linear_back(g, x, w, *bias, false)))
            }
            _ => None,
        }
    }
}

/// A gradient of ones for every row, whatever the indices are.
fn any_index(op: &OpInvocation, t: &[&Plain], refused: Result<Vec<Plain>>) -> Result<Vec<Plain>> {
    match (op, t) {
        (OpInvocation::EmbeddingBackward { rows }, [g, at]) if at.shape()[0] == g.shape()[0] => {
            let shape = [*rows, g.shape()[1]];
            Ok(vec![Plain::write(&vec![1.0; shape.iter().product()], g.dtype(), &shape)])
        }
        _ => refused,
    }
}

/// Zero as the loss of a row whose label is no class: silent, and no NaN.
fn any_label(op: &OpInvocation, t: &[&Plain], refused: Result<Vec<Plain>>) -> Result<Vec<Plain>> {
    match (op, t) {
        (OpInvocation::CrossEntropy, [_, labels]) if labels.dtype() == DType::I64 => {
            Ok(vec![Plain::write(&[0.0], DType::F32, &[])])
        }
        _ => refused,
    }
}

fn in_f16(terms: &[f32]) -> f32 {
    terms.iter().fold(f16::ZERO, |sum, x| f16::from_f32(sum.to_f32() + x)).to_f32()
}
