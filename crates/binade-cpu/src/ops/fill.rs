//! Tensors of one value.

use super::operands::check;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{Fill, OpInvocation, shape::element_count};
use binade_core::{DType, TensorSpec};

impl Fill for Cpu {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let call = OpInvocation::Fill { value, shape: shape.to_vec(), dtype };
        let TensorSpec { dtype, shape } = check(&call, &[])?;
        Tensor::from_f32(vec![value; element_count(&shape)], &shape, dtype)
    }
}
