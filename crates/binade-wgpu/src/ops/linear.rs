//! Linear layer.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::{
    bias_add::Channels,
    gemm::{Bias, Gemm, Matrices},
};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{AffineGrads, Linear, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[];

impl Linear for Wgpu {
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
        let (a, b) = (Matrices::dense(input, rows, k), Matrices::dense(weight, n, k).transposed());
        let (bias, extents) = (bias.map_or(Bias::None, Bias::OfColumns), [rows, k, n]);
        self.gemm(&Gemm { a, b, bias, extents, batch: 1, beside: false }, &shape, dtype)
    }

    fn linear_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Tensor>, Error> {
        let shape = shape::linear(input.shape(), weight.shape(), None)?;
        let dtype = operands::float(Op::LINEAR, &[input, weight])?;
        operands::grad(Op::LINEAR, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input, weight])?;
        let [rows, k, n] = extents(input, weight);
        let (g, x) = (Matrices::dense(grad, rows, n), Matrices::dense(input, rows, k));
        let w = Matrices::dense(weight, n, k);
        let of = |a, b, extents| Gemm { a, b, bias: Bias::None, extents, batch: 1, beside: false };
        let channels = Channels { outer: rows, count: n, inner: 1 };
        Ok(AffineGrads {
            input: self.gemm(&of(g, w, [rows, n, k]), input.shape(), dtype)?,
            weight: self.gemm(&of(g.transposed(), x, [n, rows, k]), weight.shape(), dtype)?,
            bias: if bias { Some(self.channel_sums(grad, channels, dtype)?) } else { None },
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
