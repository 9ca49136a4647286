//! Telling and changing element types.

use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_autocast::Autocast;
use binade_core::DType;

impl Autocast for Deferred {
    fn dtype(&self, tensor: &Tensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        // An empty tensor has the same answer, at once.
        binade_cpu::Tensor::from_bits(&[], tensor.dtype(), &[0])?.cast(to)?;
        let like = Like { dtype: to, ..tensor.like() };
        Ok(self.tensor(&[tensor], like, move |t| t[0].cast(to)))
    }

    fn elements(&self, tensor: &Tensor) -> Option<u64> {
        Some(binade_ops::shape::element_count(tensor.shape()) as u64)
    }
}
