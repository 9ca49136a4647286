//! Linear layer.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor, pool,
    product::{Matrix, add_product, product},
    reduce,
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
        let (x, w) = (Matrix::of(input, 0, rows, k), Matrix::of(weight, 0, n, k).transposed());
        let mut out;
        if let Some(bias) = bias {
            out = bias.to_f32().repeat(rows);
            add_product(x, w, &mut out);
        } else {
            out = pool::scratch(rows * n);
            product(x, w, &mut out);
        }
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
        let [g, x, w] = [(grad, rows, n), (input, rows, k), (weight, n, k)]
            .map(|(tensor, rows, columns)| Matrix::of(tensor, 0, rows, columns));
        let (mut dx, mut dw) = (pool::scratch(rows * k), pool::scratch(n * k));
        product(g, w, &mut dx);
        product(g.transposed(), x, &mut dw);
        let bias = bias.then(|| Tensor::from_f32(reduce::columns(&grad.to_f32(), n), &[n], dtype));
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
