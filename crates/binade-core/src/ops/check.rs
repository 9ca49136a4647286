//! Checks of operands, and the element types and shapes of results: one rule for all devices.
//!
//! The checks read no elements. A device that computes later can therefore refuse a call at once, with the error of every other.

use crate::ops::{
    OpInvocation, OperandError, ShapeError,
    operands::{self, Operand, float},
    shape,
};
use crate::{DType, Op, OpClass, TensorSpec};
use std::ops::RangeInclusive;

/// Result of a rule: shape and element type.
type Checked = Result<(Vec<usize>, DType), OperandError>;

/// Least and greatest number of tensors in one operand.
macro_rules! count {
    (($running:ident)) => {
        [2, 2]
    };
    ([$optional:ident]) => {
        [0, 1]
    };
    ({$several:ident}) => {
        [1, usize::MAX]
    };
    ($operand:ident) => {
        [1, 1]
    };
}

macro_rules! signatures {
    ({} $($trait:ident $file:ident {
        $($variant:ident $method:ident(
            $($operand:tt),*
        ) $({ $($values:tt)* })? -> $results:ident;)+
    })*) => {
        impl OpInvocation {
            /// Returns the operation, as errors name it.
            const fn op(&self) -> Op {
                match self {
                    $($(Self::$variant { .. })|+ => const {
                        match Op::named(stringify!($file)) {
                            Some(op) => op,
                            None => Op::custom(stringify!($file), OpClass::Shape),
                        }
                    },)*
                }
            }

            /// Returns the method's number of operands.
            const fn operand_count(&self) -> RangeInclusive<usize> {
                match self {
                    $($(Self::$variant { .. } => {
                        RangeInclusive::new(
                            0 $(+ count!($operand)[0])*,
                            0 $(+ count!($operand)[1])*,
                        )
                    })+)*
                }
            }
        }
    };
}

for_each_op!([signatures]);

impl OpInvocation {
    /// Returns the element type and shape of the method's first result, from those of its operands.
    ///
    /// Operands are in the order of [`run`](Self::run). A device calls it before it computes: it knows the result at the call, and
    /// returns the errors of all other devices. Labels, indices and keys are not read.
    ///
    /// # Errors
    ///
    /// `Mismatch` for operands of other shapes, element types or number than the method takes; `InvalidArgument` for a value out of
    /// range, and for a result larger than any memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::DType::{F16, F32};
    /// use binade_core::ops::OpInvocation;
    ///
    /// let call = OpInvocation::MatMul;
    /// let result = call.check(&[(F16, &[2, 3]), (F16, &[3, 5])])?;
    /// assert_eq!((result.dtype, result.shape), (F16, vec![2, 5]));
    ///
    /// let error = call.check(&[(F16, &[2, 3]), (F16, &[4, 5])]).unwrap_err();
    /// assert_eq!(error.to_string(), "matmul: found [2, 3] and [4, 5]; expected [M, K] and [K, N]");
    /// assert!(call.check(&[(F16, &[2, 3]), (F32, &[3, 5])]).is_err());
    /// # Ok::<(), binade_core::ops::OperandError>(())
    /// ```
    pub fn check(&self, operands: &[(DType, &[usize])]) -> Result<TensorSpec, OperandError> {
        let op = self.op();
        if !self.operand_count().contains(&operands.len()) {
            let expected = "as many operands as the method takes";
            return Err(ShapeError::mismatch(op, &shapes(operands), expected).into());
        }
        match (self, operands) {
            (Self::LinearReluBackward { bias }, [grad, output, layer @ ..]) => {
                Self::ReluBackward.check(&[*grad, *output])?;
                Self::LinearBackward { bias: *bias }.check(&[&[*grad], layer].concat())
            }
            (Self::LinearReluBackwardOfWeight { bias }, [grad, output, layer @ ..]) => {
                Self::ReluBackward.check(&[*grad, *output])?;
                Self::LinearBackwardOfWeight { bias: *bias }.check(&[&[*grad], layer].concat())
            }
            _ => {
                let (shape, dtype) = match self.forward() {
                    Some(forward) => self.backward_rule(op, &forward, operands)?,
                    None => self.rule(op, operands)?,
                };
                Ok(TensorSpec { dtype, shape })
            }
        }
    }

    /// Applies the rule of a backward method: a gradient like the result of `forward`, and results like its operands.
    fn backward_rule(&self, op: Op, forward: &Self, operands: &[Operand<'_>]) -> Checked {
        let [grad, operands @ ..] = operands else { return self.rule(op, operands) };
        let result = forward.check(operands)?;
        operands::grad(op, *grad, (result.dtype, &result.shape))?;
        let of_weight = matches!(
            self,
            Self::LinearBackwardOfWeight { .. } | Self::Conv2dBackwardOfWeight { .. }
        );
        let (dtype, shape) = operands[usize::from(of_weight)];
        Ok((shape.to_vec(), dtype))
    }

    /// Returns the call that a backward method differentiates, if its operands are the gradient and that call's operands.
    const fn forward(&self) -> Option<Self> {
        Some(match *self {
            Self::MatMulBackward => Self::MatMul,
            Self::BmmBackward => Self::Bmm,
            Self::LinearBackward { .. } | Self::LinearBackwardOfWeight { .. } => Self::Linear,
            Self::Conv2dBackward { config, .. } | Self::Conv2dBackwardOfWeight { config, .. } => {
                Self::Conv2d { config }
            }
            Self::MaxPool2dBackward { config } => Self::MaxPool2d { config },
            Self::CrossEntropyBackward => Self::CrossEntropy,
            Self::MseLossBackward => Self::MseLoss,
            _ => return None,
        })
    }

    /// Applies the rule of any other method.
    fn rule(&self, op: Op, operands: &[Operand<'_>]) -> Checked {
        Ok(match (self, operands) {
            (Self::Fill { shape, dtype, .. }, _) => (shape::fill(shape)?, *dtype),
            (Self::Reshape { shape }, [input]) => (shape::reshape(input.1, shape)?, input.0),
            (Self::Permute { axes }, [input]) => {
                (shape::permute(input.1, axes)?, float(op, operands)?)
            }
            (Self::Narrow { axis, start, len }, [input]) => {
                (shape::narrow(input.1, *axis, [*start, *len])?, float(op, operands)?)
            }
            (Self::NarrowBackward { shape, axis, start }, [grad]) => {
                shape::check_narrowed(shape, *axis, *start, grad.1)?;
                (shape::fill(shape)?, float(op, operands)?)
            }
            (Self::Cat { axis }, _) => {
                (shape::cat(&shapes(operands), *axis)?, float(op, operands)?)
            }
            (Self::MaskedFill { value }, [input, mask]) => {
                let dtype = operands::masked(op, *input, *mask)?;
                shape::check_masked_fill(input.1, mask.1)?;
                operands::check_value(op, *value, (dtype, input.1))?;
                (input.1.to_vec(), dtype)
            }
            (Self::AddBackward, [grad]) => (grad.1.to_vec(), grad.0),
            (Self::BiasAdd, [input, bias]) => {
                (shape::bias_add(input.1, bias.1)?, float(op, operands)?)
            }
            (Self::MatMul, [a, b]) => (shape::matmul(a.1, b.1)?, float(op, operands)?),
            (Self::Bmm, [a, b]) => (shape::bmm(a.1, b.1)?, float(op, operands)?),
            (Self::Linear | Self::LinearRelu, [input, weight, bias @ ..]) => {
                let bias = bias.first().map(|bias| bias.1);
                (shape::linear(op, input.1, weight.1, bias)?, float(op, operands)?)
            }
            (Self::ScaledDotProductAttention { .. }, [query, key, value, mask @ ..]) => {
                operands::attention(op, [*query, *key, *value], mask.first())?
            }
            (
                Self::ScaledDotProductAttentionBackward { .. },
                [grad, query, key, value, output, statistics, mask @ ..],
            ) => {
                let of = [*query, *key, *value];
                let (shape, dtype) = operands::attention(op, of, mask.first())?;
                operands::grad(op, *grad, (dtype, &shape))?;
                operands::attention_results(op, [*output, *statistics], (dtype, &shape))?;
                (query.1.to_vec(), dtype)
            }
            (
                Self::Conv2d { .. }
                | Self::MaxPool2d { .. }
                | Self::AvgPool2d { .. }
                | Self::AvgPool2dBackward { .. }
                | Self::AdaptiveAvgPool2d { .. }
                | Self::AdaptiveAvgPool2dBackward { .. },
                _,
            ) => self.rule_of_windows(op, operands)?,
            (Self::RotaryEmbedding | Self::RotaryEmbeddingBackward, [input, cos, sin]) => {
                let shape = shape::rotary_embedding(input.1, [cos.1, sin.1])?;
                (shape, operands::with_f32(op, *input, &[*cos, *sin])?)
            }
            (Self::Dropout { p } | Self::DropoutBackward { p }, [input, key]) => {
                let shape = shape::dropout(input.1, key.1, *p)?;
                (shape, operands::indexed(op, *input, *key)?)
            }
            (Self::Embedding, [table, indices]) => {
                let shape = shape::embedding(table.1, indices.1)?;
                (shape, operands::indexed(op, *table, *indices)?)
            }
            (Self::EmbeddingBackward { rows }, [grad, indices]) => {
                let table = shape::embedding_table(*rows, grad.1, indices.1)?;
                (table, operands::indexed(op, *grad, *indices)?)
            }
            (
                Self::Sum
                | Self::Mean
                | Self::MseLoss
                | Self::CrossEntropy
                | Self::SumBackward { .. }
                | Self::MeanBackward { .. },
                _,
            ) => self.rule_of_scalars(op, operands)?,
            (
                Self::BatchNormStats
                | Self::BatchNormGradSums { .. }
                | Self::BatchNormInputGrad { .. },
                _,
            ) => self.rule_of_batch_norm_steps(op, operands)?,
            _ if op.class() == OpClass::Norm => self.rule_of_norms(op, operands)?,
            _ => rule_of_elements(op, operands)?,
        })
    }

    /// Applies the rule of an operation with windows over images.
    fn rule_of_windows(&self, op: Op, operands: &[Operand<'_>]) -> Checked {
        let shape = match (self, operands) {
            (Self::Conv2d { config }, [input, weight, bias @ ..]) => {
                let bias = bias.first().map(|bias| bias.1);
                shape::conv2d(input.1, weight.1, bias, *config)?
            }
            (Self::MaxPool2d { config }, [input]) => shape::max_pool2d(input.1, *config)?,
            (Self::AvgPool2d { config }, [input]) => shape::avg_pool2d(input.1, *config)?,
            (Self::AdaptiveAvgPool2d { output }, [input]) => {
                shape::adaptive_avg_pool2d(input.1, *output)?
            }
            (Self::AvgPool2dBackward { shape, config }, [grad]) => {
                shape::check_same(op, grad.1, &shape::avg_pool2d(shape, *config)?)?;
                shape::bounded(op, shape.clone())?
            }
            (Self::AdaptiveAvgPool2dBackward { shape }, [grad]) => {
                let output = [2, 3].map(|axis| grad.1.get(axis).copied().unwrap_or(1));
                shape::check_same(op, grad.1, &shape::adaptive_avg_pool2d(shape, output)?)?;
                shape::bounded(op, shape.clone())?
            }
            _ => return rule_of_elements(op, operands),
        };
        Ok((shape, float(op, operands)?))
    }

    /// Applies the rule of a loss, a sum or a mean: its result is an f32 scalar.
    fn rule_of_scalars(&self, op: Op, operands: &[Operand<'_>]) -> Checked {
        match (self, operands) {
            (Self::SumBackward { shape, dtype } | Self::MeanBackward { shape, dtype }, [grad]) => {
                operands::grad(op, *grad, (DType::F32, &[]))?;
                return Ok((shape::fill(shape)?, *dtype));
            }
            (Self::CrossEntropy, [logits, labels]) => {
                shape::check_cross_entropy(logits.1, labels.1)?;
                operands::indexed(op, *logits, *labels)?;
            }
            _ => _ = rule_of_elements(op, operands)?,
        }
        Ok((Vec::new(), DType::F32))
    }

    /// Applies the rule of a normalisation, whose result is like its input.
    fn rule_of_norms(&self, op: Op, operands: &[Operand<'_>]) -> Checked {
        let (grad, operands) = match (self, operands) {
            (
                Self::LayerNormBackward { .. }
                | Self::RmsNormBackward { .. }
                | Self::GroupNormBackward { .. }
                | Self::BatchNormBackward { .. },
                [grad, rest @ ..],
            ) => (Some(*grad), rest),
            _ => (None, operands),
        };
        let [input, vectors @ ..] = operands else { return rule_of_elements(op, operands) };
        let (parameters, running) = vectors.split_at(vectors.len().min(2));
        let shape = match self {
            Self::GroupNorm { groups, .. } | Self::GroupNormBackward { groups, .. } => {
                shape::group_norm(input.1, &shapes(vectors), *groups)?
            }
            _ if op == Op::BATCH_NORM => shape::batch_norm(input.1, &shapes(vectors))?,
            _ => shape::norm_of_last_axis(op, input.1, &shapes(vectors))?,
        };
        let dtype = operands::norm(op, *input, parameters)?;
        operands::all_f32(op, running)?;
        if matches!(self, Self::BatchNorm { .. } | Self::BatchNormBackward { .. }) {
            shape::check_batch_norm_samples(input.1)?;
        }
        if let Some(grad) = grad {
            operands::grad(op, grad, *input)?;
        }
        Ok((shape, dtype))
    }

    /// Applies the rule of one step of a batch normalisation.
    fn rule_of_batch_norm_steps(&self, op: Op, operands: &[Operand<'_>]) -> Checked {
        match (self, operands) {
            (Self::BatchNormStats, [input]) => {
                let shape = shape::batch_norm(input.1, &[])?;
                float(op, operands)?;
                shape::check_batch_norm_samples(input.1)?;
                Ok((vec![shape[1]], DType::F32))
            }
            (Self::BatchNormGradSums { .. }, [grad, input, stats @ ..]) => {
                let shape = shape::batch_norm(input.1, &shapes(stats))?;
                float(op, &[*input])?;
                operands::all_f32(op, stats)?;
                operands::grad(op, *grad, *input)?;
                Ok((vec![2, shape[1]], DType::F32))
            }
            (Self::BatchNormInputGrad { .. }, [grad, input, weight, stats @ .., means]) => {
                let shape = shape::batch_norm(input.1, &shapes(&[&[*weight], stats].concat()))?;
                shape::check_same(op, means.1, &[2, shape[1]])?;
                let dtype = operands::norm(op, *input, &[*weight])?;
                operands::all_f32(op, &[stats, &[*means]].concat())?;
                operands::grad(op, *grad, *input)?;
                Ok((shape, dtype))
            }
            _ => rule_of_elements(op, operands),
        }
    }
}

/// Applies the rule of an operation element by element or row by row: operands and result have one shape and type.
fn rule_of_elements(op: Op, operands: &[Operand<'_>]) -> Checked {
    let shape = operands.first().map_or(&[][..], |operand| operand.1);
    for operand in operands {
        shape::check_same(op, shape, operand.1)?;
    }
    if op.class() == OpClass::Softmax || op == Op::BIAS_ADD {
        shape::check_axis(op, shape)?;
    }
    Ok((shape.to_vec(), float(op, operands)?))
}

/// Returns the shapes of operands.
fn shapes<'a>(operands: &[Operand<'a>]) -> Vec<&'a [usize]> {
    operands.iter().map(|operand| operand.1).collect()
}
