//! Sums of sparse gradients, and whole gradients made of them.

use super::Gradients;
use crate::{BufferOf, Kernels, Result};
use std::borrow::Cow;

impl<D: Kernels> Gradients<D> {
    /// Makes the sparse gradients of a set in `f32` whole.
    pub(super) fn make_whole(&mut self, device: &D) -> Result<(), D> {
        while let Some((place, rows)) = self.rows.pop_first() {
            if let Some(value) = &mut self.entries[place].value {
                *value = device.run_whole(value, &rows)?;
            }
        }
        Ok(())
    }

    /// Adds the sparse gradients of `grads` to this sum where it is sparse too, or has none, unless `found` is raised. Returns the set that
    /// is still to be added: where a sum and a gradient are of two kinds, both are whole. The gradients that were added stay in it,
    /// so that their sums are marked as begun.
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
