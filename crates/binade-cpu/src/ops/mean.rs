//! Mean of all elements.

use super::operands::{self, check};
use crate::{Cpu, Error, Tensor, reduce};
use binade_core::ops::{Fill, Mean, OpInvocation, shape::element_count};
use binade_core::{DType, Op};

impl Mean for Cpu {
    fn mean(&self, input: &Tensor) -> Result<Tensor, Error> {
        check(&OpInvocation::Mean, &[input])?;
        let sum = reduce::sum(&input.to_f32());
        Ok(Tensor::scalar(reduce::round(sum / reduce::count(input.len()))))
    }

    fn mean_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        check(&OpInvocation::MeanBackward { shape: shape.to_vec(), dtype }, &[grad])?;
        let grad = f64::from(operands::scalar_grad(Op::MEAN, grad)?);
        self.fill(reduce::round(grad / reduce::count(element_count(shape))), shape, dtype)
    }
}
