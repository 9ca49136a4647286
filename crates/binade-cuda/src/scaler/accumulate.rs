//! A window's sums.

use crate::{
    Cuda, Error, Gradients, Tensor,
    gradients::{flag, supported},
    kernels::{ACCUMULATE, ACCUMULATE_MARK, THREADS},
    launch::{Arg, structs::AccumulateRow},
    memory::Buffer,
    set::Rows,
};

impl Cuda {
    /// One launch that adds, and one that marks the sums that have begun.
    pub(crate) fn run_accumulate(
        &self,
        sum: &Gradients,
        grads: &Gradients,
        found: &Buffer,
    ) -> Result<(), Error> {
        let mut set = Rows::of(grads.elements());
        for grad in grads.present() {
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let row = AccumulateRow {
                sum: total.map_or(0, Tensor::address),
                values: grad.tensor.address(),
                present: flag(sum, grad.place),
                also: flag(grads, grad.place),
                len: grad.tensor.len() as u64,
                first_chunk: 0,
                dtype: supported("add gradients of", grad.tensor)?,
                pad: 0,
            };
            set.add(grad.tensor.len(), |first_chunk| AccumulateRow { first_chunk, ..row });
        }
        let Ok(count @ 1..) = u32::try_from(set.rows.len()) else { return Ok(()) };
        let found = Arg::Address(found.address());
        let owed = Arg::Address(grads.owed(self)?.address());
        set.launch(self, &ACCUMULATE, &[Arg::U64(set.chunks.len), found, owed])?;
        set.launch_blocks(self, &ACCUMULATE_MARK, count.div_ceil(THREADS), &[found])
    }
}
