//! Passes that write whole gradients: sums of a window, and gradients with their factors applied.

use crate::{
    Cuda, Error, Gradients, Tensor,
    chunks::{Rows, flag, supported},
    kernels::{ACCUMULATE, ACCUMULATE_MARK, MATERIALISE, THREADS},
    launch::{
        args,
        structs::{AccumulateRow, MaterialiseRow, NO_GROUP},
    },
    memory::Buffer,
};
use binade_gpu::Materialise;

impl Cuda {
    /// Writes whole gradients in one launch.
    pub(super) fn materialise_all(&self, pass: &Materialise<'_, Self>) -> Result<(), Error> {
        let mut set = Rows::of(pass.grads.elements());
        for (grad, result, group) in pass.entries() {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let (result, present) = (result.address(), flag(pass.grads, grad.place));
            let group = group.unwrap_or(NO_GROUP);
            set.add(grad.tensor.len(), |first_chunk| MaterialiseRow {
                values,
                result,
                present,
                len,
                first_chunk,
                dtype,
                group,
            });
        }
        let factors = pass.grads.pending_factors(self)?;
        set.launch(self, MATERIALISE, &args![set.chunks.len, factors, pass.factors, pass.limit])
    }

    /// Adds gradients to sums in one launch, and marks the sums that have begun in another.
    pub(super) fn add_all(
        &self,
        sum: &Gradients,
        grads: &Gradients,
        found: &Buffer,
    ) -> Result<(), Error> {
        let mut set = Rows::of(grads.elements());
        for grad in grads.present() {
            // Sums of rows are made already, and only marked here.
            let len = if grads.rows.contains_key(&grad.place) { 0 } else { grad.tensor.len() };
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let row = AccumulateRow {
                sum: total.map_or(0, Tensor::address),
                values: grad.tensor.address(),
                present: flag(sum, grad.place),
                also: flag(grads, grad.place),
                len: len as u64,
                first_chunk: 0,
                dtype: supported("add gradients of", grad.tensor)?,
                pad: 0,
            };
            set.add(len, |first_chunk| AccumulateRow { first_chunk, ..row });
        }
        let Ok(count @ 1..) = u32::try_from(set.rows.len()) else { return Ok(()) };
        let factors = grads.pending_factors(self)?;
        set.launch(self, ACCUMULATE, &args![set.chunks.len, found, factors])?;
        set.launch_blocks(self, ACCUMULATE_MARK, count.div_ceil(THREADS), &args![found])
    }
}
