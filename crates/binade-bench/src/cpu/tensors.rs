//! Tensors of random values, and sets of them.

use crate::Result;
use crate::speed::data::values;
use binade_core::{DType, Named};
use binade_cpu::{Gradients, Tensor};

/// Number of elements, and of the tensors that they are cut into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) elements: usize,
    pub(crate) tensors: usize,
}

impl Size {
    /// Returns tensors of these elements in all, between -1 and 1.
    pub(crate) fn tensors(self, dtype: DType) -> Result<Vec<Tensor>> {
        let each = (self.elements / self.tensors).max(1);
        let values = values(each);
        let one = |_| Ok(Tensor::from_f32(values.clone(), &[each], dtype)?);
        (0..self.tensors).map(one).collect()
    }

    pub(crate) fn named(self, dtype: DType) -> Result<Vec<Named<Tensor>>> {
        let tensors = self.tensors(dtype)?.into_iter().enumerate();
        Ok(tensors.map(|(number, tensor)| Named::new(format!("{number}"), tensor)).collect())
    }

    pub(crate) fn gradients(self, dtype: DType) -> Result<Gradients> {
        let named = self.named(dtype)?.into_iter();
        Ok(named
            .map(|it| Named { name: it.name, value: Some(it.value) })
            .collect::<Vec<_>>()
            .into())
    }
}
