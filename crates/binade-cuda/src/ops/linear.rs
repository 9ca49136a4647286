//! Linear layer.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::gemm::{Gemm, Matrices};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{AffineGrads, Linear, WeightGrads, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[];

impl Linear for Cuda {
    fn linear(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor, Error> {
        let shape = shape::linear(input.shape(), weight.shape(), bias.map(Tensor::shape))?;
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let dtype = operands::float(Op::LINEAR, &operands)?;
        self.has_made_all(&operands)?;
        let [rows, k, n] = extents(input, weight);
        let result = self.unset(dtype, &shape)?;
        let (a, b) = (Matrices::dense(input, rows, k), Matrices::dense(weight, n, k).transposed());
        let c = Matrices::dense(&result, rows, n);
        self.gemm(&Gemm { bias, ..Gemm::of(a, b, c, [rows, n, k]) })?;
        Ok(result)
    }

    fn linear_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Tensor>, Error> {
        let WeightGrads { weight: of_weight, bias } =
            self.linear_backward_of_weight(grad, input, weight, bias)?;
        let [rows, k, n] = extents(input, weight);
        let of_input = self.unset(input.dtype(), input.shape())?;
        let (g, w) = (Matrices::dense(grad, rows, n), Matrices::dense(weight, n, k));
        let c = Matrices::dense(&of_input, rows, k);
        self.gemm(&Gemm::of(g, w, c, [rows, k, n]))?;
        Ok(AffineGrads { input: of_input, weight: of_weight, bias })
    }

    fn linear_backward_of_weight(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
    ) -> Result<WeightGrads<Tensor>, Error> {
        let shape = shape::linear(input.shape(), weight.shape(), None)?;
        let dtype = operands::float(Op::LINEAR, &[input, weight])?;
        operands::grad(Op::LINEAR, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input, weight])?;
        let [rows, k, n] = extents(input, weight);
        let of_weight = self.unset(dtype, weight.shape())?;
        let (a, x) = (Matrices::dense(grad, rows, n).transposed(), Matrices::dense(input, rows, k));
        let c = Matrices::dense(&of_weight, n, k);
        self.gemm(&Gemm::of(a, x, c, [n, k, rows]))?;
        let bias = if bias { Some(self.sum_of_columns(grad, n)?) } else { None };
        Ok(WeightGrads { weight: of_weight, bias })
    }
}

/// Returns the input's rows, its width and the output's width, of operands that have been checked.
pub(super) fn extents(input: &Tensor, weight: &Tensor) -> [usize; 3] {
    match (input.shape(), weight.shape()) {
        ([lead @ .., k], [n, _]) => [lead.iter().product(), *k, *n],
        _ => [0; 3],
    }
}
