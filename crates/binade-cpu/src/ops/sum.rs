//! Sum of all elements.

use super::operands::{self, check};
use crate::{Cpu, Error, Tensor, reduce};
use binade_core::ops::{Fill, OpInvocation, Sum};
use binade_core::{DType, Op};

impl Sum for Cpu {
    fn sum(&self, input: &Tensor) -> Result<Tensor, Error> {
        check(&OpInvocation::Sum, &[input])?;
        Ok(Tensor::scalar(reduce::round(reduce::sum(&input.to_f32()))))
    }

    fn sum_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        check(&OpInvocation::SumBackward { shape: shape.to_vec(), dtype }, &[grad])?;
        self.fill(operands::scalar_grad(Op::SUM, grad)?, shape, dtype)
    }
}
