//! Mean of all elements: the sum's shaders, with a divisor.

use super::{sum::SUM, total::divisor};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::{DType, Op};
use binade_ops::{Mean, operands, shape::element_count};

pub(super) const SHADERS: &[&Shader] = &[];

impl Mean for Wgpu {
    fn mean(&self, input: &Tensor) -> Result<Tensor, Error> {
        operands::float(Op::MEAN, &[input])?;
        self.total(&SUM, &[input], divisor(input.len()), f32::NAN)
    }

    fn mean_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::MEAN, grad)?;
        self.spread(grad, shape, dtype, divisor(element_count(shape)))
    }
}
