//! A recorded set of gradients, on the CPU backend and back.

use crate::replay::dtype;
use crate::replay::error::Wrong;
use crate::replay::trace::Grads;
use binade_core::cast::{self, OnOverflow};
use binade_core::{DType, Named};
use binade_cpu::{Gradients, Tensor};

/// Gradients by parameter, as values of one element type.
pub(super) struct Set {
    pub(super) dtype: DType,
    pub(super) grads: Vec<Option<Vec<f32>>>,
}

impl Set {
    pub(super) fn read(dtype: &str, grads: &Grads) -> Result<Self, Wrong> {
        let dtype = dtype::castable(dtype)?;
        let decode = |grad: &Option<Vec<u32>>| {
            grad.as_deref().map(|codes| dtype::decoded(dtype, codes)).transpose()
        };
        Ok(Self { dtype, grads: grads.iter().map(decode).collect::<Result<_, _>>()? })
    }

    /// Returns the values of all elements.
    pub(super) fn values(&self) -> impl Iterator<Item = f32> {
        self.grads.iter().flatten().flatten().copied()
    }

    pub(super) fn tensors(&self) -> usize {
        self.grads.iter().flatten().count()
    }

    /// Returns the gradients as tensors of the CPU backend.
    pub(super) fn on_cpu(&self) -> Result<Gradients, Wrong> {
        let tensor =
            |values: &Vec<f32>| Tensor::from_f32(values.clone(), &[values.len()], self.dtype);
        let entries = self.grads.iter().enumerate().map(|(i, grad)| {
            let value = grad.as_ref().map(tensor).transpose();
            Ok(Named::new(format!("{i}"), value.map_err(|e| Wrong::Recording(e.to_string()))?))
        });
        Ok(entries.collect::<Result<Vec<_>, _>>()?.into())
    }

    /// Returns the gradients with every value changed, and rounded to the type that it is recorded in.
    pub(super) fn map(&self, change: impl Fn(f32) -> f32) -> Self {
        let one = |x: &f32| self.rounded(change(*x));
        let grads = self.grads.iter();
        let grads = grads.map(|grad| grad.as_ref().map(|grad| grad.iter().map(one).collect()));
        Self { dtype: self.dtype, grads: grads.collect() }
    }

    /// Returns what the CPU backend has now, rounded likewise.
    pub(super) fn back(&self, grads: &Gradients) -> Self {
        let one = |x: &f32| self.rounded(*x);
        let values = grads.as_stored().iter().map(|entry| {
            entry.value.as_ref().map(|tensor| tensor.to_f32().iter().map(one).collect())
        });
        Self { dtype: self.dtype, grads: values.collect() }
    }

    /// Passes where every value has the recorded bits, or both are NaN.
    pub(super) fn same(&self, recorded: Option<&Grads>) -> Result<(), Wrong> {
        let none = || Wrong::Recording("it has no gradients after the clip".into());
        dtype::same_grads(&self.grads, recorded.ok_or_else(none)?, self.dtype)
    }

    fn rounded(&self, x: f32) -> f32 {
        cast::round(x, self.dtype, OnOverflow::NonFinite).unwrap_or(f32::NAN)
    }
}
