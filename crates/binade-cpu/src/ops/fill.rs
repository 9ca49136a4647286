//! Tensors of one value.

use crate::{Cpu, Error, Tensor};
use binade_core::DType;
use binade_ops::{
    Fill,
    shape::{self, element_count},
};

impl Fill for Cpu {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let shape = shape::fill(shape)?;
        Tensor::from_f32(vec![value; element_count(&shape)], &shape, dtype)
    }
}
