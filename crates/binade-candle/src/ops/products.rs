//! Products: on the CPU in `f32`, rounded once.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::{DType, Error as CandleError, Module, Result as CandleResult, Tensor};
use candle_nn::Linear;
use std::borrow::Cow;

/// Returns the product of two matrices, or of two batches of equal shape.
///
/// # Errors
///
/// See the [module](super).
pub fn matmul(
    scope: &Scope<'_, Candle>,
    path: &str,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor, Error> {
    let op = if a.rank() > 2 { Op::BMM } else { Op::MATMUL };
    product(scope, op, path, [a, b], |[a, b]| a.matmul(&b))
}

/// Returns `input` times the transpose of `weight`, plus `bias`: a linear layer.
///
/// # Errors
///
/// See the [module](super).
pub fn linear(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, Error> {
    let Some(bias) = bias else {
        return product(scope, Op::LINEAR, path, [input, weight], |[x, w]| rows(&x, w));
    };
    let operands = [input, weight, bias];
    product(scope, Op::LINEAR, path, operands, |[x, w, b]| plus(&rows(&x, w)?, &b))
}

/// Computes candle's linear layer, for one row too.
fn rows(x: &Tensor, weight: Tensor) -> CandleResult<Tensor> {
    let layer = Linear::new(weight, None);
    if x.rank() == 1 { layer.forward(&x.unsqueeze(0)?)?.squeeze(0) } else { layer.forward(x) }
}

/// Returns a product plus a bias, in the product's type. On every device they are added in `f32`: the bits equal those of candle's own addition, but
/// the gradient of the bias, a sum over rows, would stop growing in sixteen bits.
pub(super) fn plus(product: &Tensor, bias: &Tensor) -> CandleResult<Tensor> {
    let (lhs, rhs) = (product.dtype(), bias.dtype());
    if lhs != rhs {
        return Err(CandleError::DTypeMismatchBinaryOp { lhs, rhs, op: "bias" });
    }
    let wide = if lhs == DType::F64 { lhs } else { DType::F32 };
    product.to_dtype(wide)?.broadcast_add(&bias.to_dtype(wide)?)?.to_dtype(lhs)
}

/// Returns a product: on the CPU computed in `f32` and rounded once, since candle's own products round partial sums there; on other devices candle's
/// own.
pub(super) fn product<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    if operands.iter().all(|tensor| tensor.device().is_cpu()) {
        return narrowed(scope, op, path, operands, compute);
    }
    Ok(compute(scope.cast(op, path, operands)?.map(Cow::into_owned))?)
}

#[cfg(test)]
mod tests {
    use super::plus;
    use candle_core::{DType, Device, Result, Var};

    /// Tests `plus` on a sixteen-bit product, as other devices give it; on the CPU operands come in `f32`.
    #[test]
    fn a_bias_beside_a_half_product_has_a_whole_gradient_and_candles_own_sum() -> Result<()> {
        for dtype in [DType::BF16, DType::F16] {
            let bias = Var::from_slice(&[0.1_f32, -3.0], 2, &Device::Cpu)?.to_dtype(dtype)?;
            let bias = Var::from_tensor(&bias)?;
            let product = Var::randn(0.0_f32, 1.0, (4096, 2), &Device::Cpu)?.to_dtype(dtype)?;
            let (sum, own) = (plus(&product, &bias)?, product.broadcast_add(&bias)?);
            let same = sum.eq(&own)?.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()?;
            assert_eq!((same, sum.dtype()), (8192.0, dtype));

            let grads = sum.to_dtype(DType::F32)?.sum_all()?.backward()?;
            let grad = grads.get(&bias).map(|grad| grad.to_dtype(DType::F32)?.to_vec1::<f32>());
            assert_eq!(grad.transpose()?, Some(vec![4096.0, 4096.0]));
        }
        Ok(())
    }

    #[test]
    fn a_bias_of_another_type_than_the_product_is_refused() -> Result<()> {
        let product = Var::ones((2, 2), DType::F16, &Device::Cpu)?;
        assert!(plus(&product, &*Var::ones(2, DType::F32, &Device::Cpu)?).is_err());
        Ok(())
    }
}
