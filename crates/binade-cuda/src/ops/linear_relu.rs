//! Linear layer with the rectified linear unit behind it. Binade's kernels clamp before they write an element. Behind the
//! library's products `ReLU` is a launch of its own, since NVIDIA does not promise that the library's keeps a NaN.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::{
    gemm::{Gemm, Matrices},
    linear::extents,
};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{Linear, LinearRelu, Relu, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[];

impl LinearRelu for Cuda {
    fn linear_relu(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor, Error> {
        if self.has_library()? {
            return self.relu(&self.linear(input, weight, bias)?);
        }
        let shape = shape::linear(input.shape(), weight.shape(), bias.map(Tensor::shape))?;
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let dtype = operands::float(Op::LINEAR_RELU, &operands)?;
        self.has_made_all(&operands)?;
        let [m, k, n] = extents(input, weight);
        let result = self.unset(dtype, &shape)?;
        let (a, b) = (Matrices::dense(input, m, k), Matrices::dense(weight, n, k).transposed());
        let c = Matrices::dense(&result, m, n);
        self.gemm(&Gemm { bias, relu: true, ..Gemm::of(a, b, c, [m, n, k]) })?;
        Ok(result)
    }
}
