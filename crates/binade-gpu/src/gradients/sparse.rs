//! Sums of sparse gradients, and their conversion to dense gradients.

use super::Gradients;
use crate::{BufferOf, Kernels, Result, Tensor};
use binade_core::{DType, Named, SparseRows};
use std::borrow::Cow;

impl<D: Kernels> Gradients<D> {
    /// Makes the sparse gradients of an `f32` set dense.
    pub(super) fn make_whole(&mut self, device: &D) -> Result<(), D> {
        while let Some((place, rows)) = self.rows.pop_first() {
            if let Some(value) = &mut self.entries[place].value {
                *value = device.run_whole(value, &rows)?;
            }
        }
        Ok(())
    }

    /// Adds the sparse gradients of `grads` to this sum if the sum is sparse too, or has not begun, unless `found` is raised. Returns the set that is
    /// still to be added. If one of a sum and a gradient is dense, both become dense. The added gradients stay in the returned set, so that their
    /// sums are marked as begun.
    pub(super) fn join_sparse<'g>(
        &mut self,
        device: &D,
        grads: &'g Self,
        found: &BufferOf<D>,
    ) -> Result<Cow<'g, Self>, D> {
        if self.rows.is_empty() && grads.rows.is_empty() {
            return Ok(Cow::Borrowed(grads));
        }
        let mut settled = grads.apply_factors(device, f32::INFINITY)?;
        for place in 0..settled.entries.len() {
            self.join_sparse_entry(device, &mut settled, place, found)?;
        }
        Ok(Cow::Owned(settled))
    }

    /// Waits for the device and returns the rows of each sparse gradient.
    pub(super) fn saved_rows(&self, device: &D) -> Result<Vec<Named<Vec<u64>>>, D> {
        let saved = |(place, rows): (&usize, &SparseRows<Tensor<D>>)| {
            let bytes = device.bits_of(&rows.indices)?;
            let (indices, _) = bytes.as_chunks::<8>();
            let row = |index: &[u8; 8]| u64::try_from(i64::from_le_bytes(*index)).ok();
            let indices = indices.iter().filter_map(row).collect();
            Ok(Named::new(self.entries[*place].name.clone(), indices))
        };
        self.rows.iter().map(saved).collect()
    }

    /// Returns a set of whole gradients with the gradients sparse that have `rows`.
    pub(super) fn with_rows(mut self, device: &D, rows: &[Named<Vec<u64>>]) -> Result<Self, D> {
        for Named { name, value: rows } in rows {
            let entry = |(_, entry): &(usize, &mut Named<Option<Tensor<D>>>)| entry.name == *name;
            let Some((place, Named { value: Some(value), .. })) =
                self.entries.iter_mut().enumerate().find(entry)
            else {
                continue;
            };
            let indices =
                device.tensor_of(bytemuck::cast_slice(rows), DType::I64, &[rows.len()])?;
            let rows = SparseRows { indices, shape: value.shape().to_vec() };
            *value = device.run_rows(value, &rows)?;
            self.rows.insert(place, rows);
        }
        Ok(self)
    }

    fn join_sparse_entry(
        &mut self,
        device: &D,
        grads: &mut Self,
        place: usize,
        found: &BufferOf<D>,
    ) -> Result<(), D> {
        let Some(grad) = &mut grads.entries[place].value else { return Ok(()) };
        let sum = &mut self.entries[place].value;
        match (grads.rows.get(&place), self.rows.get(&place), &sum) {
            (Some(rows), before, values) if before.is_some() == values.is_some() => {
                let joined = device.run_join(values.as_ref().zip(before), (grad, rows), found)?;
                self.rows.insert(place, joined.rows);
                *sum = Some(joined.values);
            }
            (Some(rows), ..) => {
                *grad = device.run_whole(grad, rows)?;
                grads.rows.remove(&place);
            }
            (None, Some(rows), Some(values)) => {
                *sum = Some(device.run_whole(values, rows)?);
                self.rows.remove(&place);
            }
            (None, ..) => {}
        }
        Ok(())
    }
}
