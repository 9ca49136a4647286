//! Norms that a step needs before it changes a parameter: the global gradient norm, and the norms of each tensor.

use crate::{
    Cuda, Error,
    chunks::{Rows, RowsByKernel},
    kernels::{WHOLE_TENSORS, WHOLE_TENSORS_MEASURE},
    launch::{
        Arg, args,
        structs::{ClipGroupBits, ClipRow, StepRow, WHOLE_PARTIAL},
    },
    memory::Buffer,
    scaler::group_norms,
};
use binade_gpu::Driver;

/// Returns the norm of these gradients together, as unscaling and clips leave them. `found` is unchanged.
pub(super) fn norm_of(
    cuda: &Cuda,
    grads: &Rows<ClipRow>,
    [factors, found]: [&Buffer; 2],
) -> Result<Buffer, Error> {
    // A group with a negative limit gets its norm itself.
    let group = ClipGroupBits { first_chunk: 0, norm: 0, max: -1.0, name: 0, pad: 0 };
    let norm = cuda.buffer(size_of::<f32>())?;
    group_norms::launch(cuda, grads, &[group], factors, [found, &norm])?;
    Ok(norm)
}

/// Returns memory for the partial results of a measuring pass's blocks, shared by successive passes, or `None` if nothing is measured.
pub(super) fn partials_of(
    cuda: &Cuda,
    sets: [&RowsByKernel<StepRow>; 2],
) -> Result<Option<Buffer>, Error> {
    let rows = sets.into_iter().flat_map(RowsByKernel::each);
    let measured = rows.filter(|(kernel, _)| *kernel == WHOLE_TENSORS);
    let blocks = measured.map(|(_, rows)| rows.chunks.blocks().max(1)).max();
    blocks.map(|blocks| cuda.buffer(WHOLE_PARTIAL * blocks as usize)).transpose()
}

/// Operands of a step's launches, except its rows.
pub(super) struct StepArgs<'a> {
    pub(super) constants: &'a Buffer,
    pub(super) found: &'a Buffer,
    pub(super) factors: &'a Buffer,
    pub(super) lost: Option<&'a Buffer>,
    /// Norm of all gradients together, where a rule clips by it.
    pub(super) norm: Option<&'a Buffer>,
    /// Room of the measuring passes, where a rule measures tensors.
    pub(super) partials: Option<&'a Buffer>,
}

impl StepArgs<'_> {
    /// Steps by the kernel of each kind of rule, after the pass that measures whole tensors if the rules need norms.
    pub(super) fn launch(&self, cuda: &Cuda, rows: &RowsByKernel<StepRow>) -> Result<(), Error> {
        let Self { constants, found, factors, lost, .. } = *self;
        rows.each().try_for_each(|(kernel, rows)| {
            if kernel == WHOLE_TENSORS {
                self.measure(cuda, rows)?;
            }
            let chunks = [Arg::U64(0), Arg::U64(rows.chunks.len)];
            rows.launch(
                cuda,
                kernel,
                &[&chunks[..], &args![constants, found, factors, lost]].concat(),
            )
        })
    }

    /// Writes the values derived from each tensor's norms into its constants.
    fn measure(&self, cuda: &Cuda, rows: &Rows<StepRow>) -> Result<(), Error> {
        let Self { constants, found, factors, norm, partials, .. } = *self;
        let done = &cuda.shared_buffers()?.done;
        let args = args![rows.chunks.len, constants, found, factors, norm, partials, done];
        rows.launch(cuda, WHOLE_TENSORS_MEASURE, &args)
    }
}
