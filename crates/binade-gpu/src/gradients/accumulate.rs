//! The sums of a window.

use super::Gradients;
use crate::{BufferOf, Kernels, Result, Tensor};
use binade_core::{DType, Named, check_same_parameters};
use std::sync::Arc;

impl<D: Kernels> Gradients<D> {
    /// Returns `sum + grads`, or `sum` if `found` is raised, which only the device reads.
    pub(super) fn accumulated(
        sum: Option<Self>,
        device: &D,
        grads: &Self,
        found: &BufferOf<D>,
    ) -> Result<Self, D> {
        grads.check_owner(device)?;
        device.check_owner(found)?;
        sum.iter().try_for_each(|sum| sum.check_owner(device))?;
        let mut sum = match sum {
            None => Self::empty_like(device, grads)?,
            Some(sum) => {
                check_same_parameters(sum.shapes(), grads.shapes())?;
                sum.writable(device)?
            }
        };
        let grads = &*sum.join_sparse(device, grads, found)?;
        sum.add_missing(device, grads)?;
        device.run_sum(&sum, grads, found)?;
        sum.is_measured = false;
        Ok(sum)
    }

    /// Returns sums without any addend yet.
    fn empty_like(device: &D, grads: &Self) -> Result<Self, D> {
        let entries: Vec<_> =
            grads.names().map(|name| Named { name: name.clone(), value: None }).collect();
        let present = Some(Arc::new(device.zeros(4 * entries.len())?));
        Ok(Self { present, ..Self::from(entries) })
    }

    /// Makes a set that came as a sum plain `f32` values that nobody else holds.
    fn writable(self, device: &D) -> Result<Self, D> {
        let is_plain = |entry: &Named<Option<Tensor<D>>>| {
            entry.value.as_ref().is_none_or(|tensor| tensor.dtype() == DType::F32)
        };
        // Clipped, or never summed before, it may be anything but plain f32.
        let mut sum = if self.owed.is_none() && self.entries.iter().all(is_plain) {
            self
        } else {
            self.apply_factors(device, f32::INFINITY)?
        };
        let mut present = match sum.present.take() {
            Some(present) => present,
            None => Arc::new(sum.present_words(device)?),
        };
        device.own(&mut present)?;
        sum.present = Some(present);
        for tensor in sum.entries.iter_mut().filter_map(|entry| entry.value.as_mut()) {
            device.own_tensor(tensor)?;
        }
        Ok(sum)
    }

    /// Returns the words of a set whose gradients are known to the host.
    fn present_words(&self, device: &D) -> Result<BufferOf<D>, D> {
        let word = |entry: &Named<Option<Tensor<D>>>| u32::from(entry.value.is_some());
        let words: Vec<u32> = self.entries.iter().map(word).collect();
        device.buffer_of(bytemuck::cast_slice(&words))
    }

    /// Adds a sum, not yet begun, for each gradient that has none.
    fn add_missing(&mut self, device: &D, grads: &Self) -> Result<(), D> {
        for (sum, grad) in self.entries.iter_mut().zip(&grads.entries) {
            if let (None, Some(grad)) = (&sum.value, &grad.value) {
                sum.value = Some(device.unset(DType::F32, grad.shape())?);
            }
        }
        Ok(())
    }
}
