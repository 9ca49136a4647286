//! The read-only pass over a set.

use super::Scale;
use crate::{
    Cuda, Error, Found, Gradients,
    gradients::{flag, supported},
    kernels::UNSCALE,
    launch::{
        Arg,
        structs::{FoundBits, OwedBits, PARTIAL, UnscaleRow},
    },
    memory::Buffer,
    set::Rows,
};
use binade_gpu::Driver;
use std::sync::Arc;

impl Cuda {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then.
    pub(super) fn inspect(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        grads.check_owner(self)?;
        self.has_made(&scale.bits)?;
        let mut set = Rows::of(grads.elements());
        let numbers = self.names().numbers(grads.present().map(|grad| grad.name));
        for (grad, parameter) in grads.present().zip(numbers) {
            let dtype = supported("unscale gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let present = flag(grads, grad.place);
            set.add(grad.tensor.len(), |first_chunk| UnscaleRow {
                values,
                present,
                len,
                first_chunk,
                parameter,
                dtype,
            });
        }
        let (found, owed) =
            (self.buffer(size_of::<FoundBits>())?, self.buffer(size_of::<OwedBits>())?);
        self.run_unscale(&set, scale, [&found, &owed])?;
        grads.owed = Some(Arc::new(owed));
        grads.is_measured = true;
        Ok(Found::of(found, grads))
    }

    fn run_unscale(
        &self,
        set: &Rows<UnscaleRow>,
        scale: &Scale,
        [found, owed]: [&Buffer; 2],
    ) -> Result<(), Error> {
        // A set without elements is looked at by one block, which has the finding to write.
        let blocks = set.chunks.blocks().max(1);
        let partials = self.buffer(blocks as usize * PARTIAL)?;
        let args = [
            Arg::U64(0),
            Arg::U64(set.chunks.count),
            Arg::U64(set.chunks.len),
            Arg::Address(scale.bits.address()),
            Arg::Address(partials.address()),
            Arg::Address(self.fixed()?.done.address()),
            Arg::Address(found.address()),
            Arg::Address(owed.address()),
        ];
        set.launch_blocks(self, &UNSCALE, blocks, &args)
    }
}
