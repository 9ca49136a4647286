//! Norms that a step needs before it moves a parameter: that of all gradients together, and those of each tensor.

use crate::{
    Cuda, Error,
    chunks::{Rows, RowsByKernel},
    kernels::{CLIP_GROUPS, WHOLE_TENSORS, WHOLE_TENSORS_MEASURE},
    launch::{
        Arg, args,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow, StepRow, WHOLE_PARTIAL},
    },
    memory::Buffer,
};
use binade_gpu::Driver;
use binade_master_weights::UpdateRule;

/// Returns the kernel that steps by a rule.
pub(super) fn kernel_of(rule: &UpdateRule) -> &'static str {
    if rule.needs_whole_tensors() { WHOLE_TENSORS } else { rule.name() }
}

/// Returns the norm of these gradients together, as unscaling and clips leave them. `found` stays as it is.
pub(super) fn norm_of(
    cuda: &Cuda,
    grads: &Rows<ClipRow>,
    [factors, found]: [&Buffer; 2],
) -> Result<Buffer, Error> {
    // A group with a negative limit gets its norm itself.
    let group = ClipGroupBits { first_chunk: 0, norm: 0, max: -1.0, name: 0, pad: 0 };
    let table = cuda.table(bytemuck::bytes_of(&group))?;
    let (norm, blocks) = (cuda.buffer(size_of::<f32>())?, grads.chunks.blocks().max(1));
    let partials = cuda.buffer(CLIP_PARTIAL * blocks as usize)?;
    let (chunks, done) = (grads.chunks, &cuda.shared_buffers()?.done);
    let pass = args![chunks.count, chunks.len, &*table, 1_u32, factors, &partials, done];
    let args = [&pass[..], &args![found, &norm]].concat();
    grads.launch_blocks(cuda, CLIP_GROUPS, blocks, &args)?;
    Ok(norm)
}

/// Operands of the launches of a step, beside its rows.
pub(super) struct StepArgs<'a> {
    pub(super) constants: &'a Buffer,
    pub(super) found: &'a Buffer,
    pub(super) factors: &'a Buffer,
    pub(super) lost: Option<&'a Buffer>,
    /// Norm of all gradients together, where a rule clips by it.
    pub(super) norm: Option<&'a Buffer>,
}

impl StepArgs<'_> {
    /// Steps by the kernel of each kind of rule, behind the pass that measures whole tensors where the rules need their norms.
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

    /// Puts what follows from the norms of each tensor into its constants.
    fn measure(&self, cuda: &Cuda, rows: &Rows<StepRow>) -> Result<(), Error> {
        let Self { constants, found, factors, norm, .. } = *self;
        let partials = cuda.buffer(WHOLE_PARTIAL * rows.chunks.blocks().max(1) as usize)?;
        let done = &cuda.shared_buffers()?.done;
        let args = args![rows.chunks.len, constants, found, factors, norm, &partials, done];
        rows.launch(cuda, WHOLE_TENSORS_MEASURE, &args)
    }
}
