//! The read-only pass over a set.

use crate::{
    Error, Gradients, Wgpu,
    dispatch::{
        Bound, groups_of,
        structs::{self, CHUNK, FoundBits, PARTIAL, count},
    },
    gradients::{flag, flags, supported},
    memory::Buffer,
};
use binade_gpu::{Driver, OwedBits, PresentGradient};

impl Wgpu {
    /// Checks these gradients of a set. Returns their found-inf result and pending factors.
    pub(super) fn look(
        &self,
        grads: &Gradients,
        members: &[PresentGradient<'_, Wgpu>],
        scale: &Buffer,
    ) -> Result<[Buffer; 2], Error> {
        let dtypes = members.iter().map(|grad| supported("unscale gradients of", grad.tensor));
        let dtypes = dtypes.collect::<Result<Vec<_>, Error>>()?;
        let partials = self.partials(members)?;
        let chunks = self.look_at_chunks(grads, members.iter().zip(dtypes), scale, &partials)?;
        let (found, owed) =
            (self.buffer(size_of::<FoundBits>())?, self.buffer(size_of::<OwedBits>())?);
        let whole = [&partials, &found, scale, &owed].map(Bound::whole);
        self.dispatch("unscale_join", &structs::Join { count: count(chunks) }, whole.into(), 1)?;
        Ok([found, owed])
    }

    /// Allocates room for a partial result of each chunk of these gradients, and at least for one.
    fn partials(&self, members: &[PresentGradient<'_, Wgpu>]) -> Result<Buffer, Error> {
        let chunks = members.iter().map(|grad| {
            self.parts(grad.tensor.len()).map(|piece| piece.len().div_ceil(CHUNK)).sum::<usize>()
        });
        self.buffer(chunks.sum::<usize>().max(1) * PARTIAL)
    }

    /// Computes a partial result for each chunk, and returns their number.
    fn look_at_chunks<'g>(
        &self,
        grads: &Gradients,
        members: impl Iterator<Item = (&'g PresentGradient<'g, Wgpu>, u32)> + Clone,
        scale: &Buffer,
        partials: &Buffer,
    ) -> Result<usize, Error> {
        let mut first_partial = 0;
        let numbers = self.names().numbers(members.clone().map(|(grad, _)| grad.name));
        for ((grad, dtype), parameter) in members.zip(numbers) {
            for piece in self.parts(grad.tensor.len()) {
                let (values, start) = Bound::elements(grad.tensor, piece.clone());
                let chunks = piece.len().div_ceil(CHUNK);
                let params = structs::Unscale {
                    len: count(piece.len()),
                    dtype,
                    start,
                    parameter,
                    chunks: count(chunks),
                    first_partial: count(first_partial),
                    flag: flag(grads, grad.place),
                    before: count(piece.start),
                };
                let (flags, rest) = (flags(grads, self)?, Bound::whole(partials));
                let bound = vec![values, flags, Bound::whole(scale), rest];
                self.dispatch("unscale", &params, bound, groups_of(chunks))?;
                first_partial += chunks;
            }
        }
        Ok(first_partial)
    }
}
