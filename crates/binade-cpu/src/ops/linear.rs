//! Linear layer.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor,
    reduce::{self, add_product, matrix},
};
use binade_core::TensorSpec;
use binade_core::ops::{AffineGrads, Linear, OpInvocation};

impl Linear for Cpu {
    fn linear(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor, Error> {
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let TensorSpec { dtype, shape } = check(&OpInvocation::Linear, &operands)?;
        let [rows, k, n] = extents(input, weight);
        let mut out = match bias {
            Some(bias) => bias.to_f32().repeat(rows),
            None => vec![0.0; rows * n],
        };
        let (x, w) = (input.to_f32(), weight.to_f32());
        add_product(&matrix(&x, rows, k), &matrix(&w, n, k).reversed_axes(), &mut out);
        Tensor::from_f32(out, &shape, dtype)
    }

    fn linear_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Tensor>, Error> {
        let call = OpInvocation::LinearBackward { bias };
        let dtype = check(&call, &[grad, input, weight])?.dtype;
        let [rows, k, n] = extents(input, weight);
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let (mut dx, mut dw) = (vec![0.0; rows * k], vec![0.0; n * k]);
        add_product(&matrix(&g, rows, n), &matrix(&w, n, k), &mut dx);
        add_product(&matrix(&g, rows, n).reversed_axes(), &matrix(&x, rows, k), &mut dw);
        let bias = bias.then(|| Tensor::from_f32(reduce::columns(&g, n), &[n], dtype));
        Ok(AffineGrads {
            input: Tensor::from_f32(dx, input.shape(), dtype)?,
            weight: Tensor::from_f32(dw, weight.shape(), dtype)?,
            bias: bias.transpose()?,
        })
    }
}

/// Returns the input's rows, its width and the output's width, of operands that have been checked.
fn extents(input: &Tensor, weight: &Tensor) -> [usize; 3] {
    match (input.shape(), weight.shape()) {
        ([lead @ .., k], [n, _]) => [lead.iter().product(), *k, *n],
        _ => [0; 3],
    }
}
