//! The read-only pass over a set.

use super::{Found, Scale, found::Maybe};
use crate::{
    Cuda, Error, Gradients,
    gradients::{Present, supported},
    kernels::{THREADS, UNSCALE},
    launch::{
        Arg, Grid,
        structs::{FoundBits, OwedBits, PARTIAL, UnscaleRow},
    },
    memory::Buffer,
    set::Chunks,
};
use std::sync::Arc;

impl Cuda {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then.
    pub(super) fn inspect(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        grads.are_of(self)?;
        self.has_made(&scale.bits)?;
        let mut chunks = Chunks::of(grads.elements());
        let row = |grad: Present<'_>| self.row(&grad, &mut chunks);
        let rows = grads.present().map(row).collect::<Result<Vec<_>, Error>>()?;
        let (found, owed) =
            (self.buffer(size_of::<FoundBits>())?, self.buffer(size_of::<OwedBits>())?);
        self.run_unscale(&rows, chunks, scale, [&found, &owed])?;
        grads.owed = Some(Arc::new(owed));
        grads.is_measured = true;
        Ok(told(Found::new(Arc::new(found)), grads))
    }

    fn row(&self, grad: &Present<'_>, chunks: &mut Chunks) -> Result<UnscaleRow, Error> {
        let len = grad.tensor.len() as u64;
        Ok(UnscaleRow {
            values: grad.tensor.address(),
            present: grad.flag,
            len,
            first_chunk: chunks.add(len),
            parameter: self.names().number(grad.name),
            dtype: supported("unscale gradients of", grad.tensor)?,
        })
    }

    fn run_unscale(
        &self,
        rows: &[UnscaleRow],
        chunks: Chunks,
        scale: &Scale,
        [found, owed]: [&Buffer; 2],
    ) -> Result<(), Error> {
        // A set without elements is looked at by one block, which has the finding to write.
        let blocks = chunks.blocks().max(1);
        let table = self.table(rows)?;
        let partials = self.buffer(blocks as usize * PARTIAL)?;
        let args = [
            Arg::Address(table.address()),
            Arg::U32(u32::try_from(rows.len()).unwrap_or(u32::MAX)),
            Arg::U64(0),
            Arg::U64(chunks.count),
            Arg::U64(chunks.len),
            Arg::Address(scale.bits.address()),
            Arg::Address(partials.address()),
            Arg::Address(self.fixed()?.done.address()),
            Arg::Address(found.address()),
            Arg::Address(owed.address()),
        ];
        self.launch(&UNSCALE, Grid { blocks, threads: THREADS }, &args)
    }
}

/// With the names of gradients that are missing, or may be.
fn told(found: Found, grads: &Gradients) -> Found {
    let absent = grads.entries.iter().filter(|entry| entry.value.is_none());
    let missing = absent.map(|entry| entry.name.clone()).collect();
    let names = || grads.names().cloned().collect();
    let maybe = grads.present.clone().map(|present| Maybe { present, names: names() });
    Found { missing, maybe, ..found }
}
