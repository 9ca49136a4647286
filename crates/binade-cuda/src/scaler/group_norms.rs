//! Norms of groups of gradients.

use crate::{
    Cuda, Error, Tensor,
    chunks::{Rows, flag, supported},
    kernels::CLIP_GROUPS,
    launch::{
        args,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
    memory::Buffer,
};
use binade_gpu::{Driver, GroupClip};
use binade_grad_scaler::Norm;

impl Cuda {
    /// Measures all groups in one launch, writes their factors, and raises the verdict.
    pub(super) fn measure_groups(&self, clip: &GroupClip<'_, Self>) -> Result<(), Error> {
        let (grads, groups) = rows(self, clip)?;
        let factors = clip.grads.pending_factors(self)?;
        launch(self, &grads, &groups, factors, [clip.verdict, clip.factors])
    }
}

/// Measures `groups` of `grads` in one launch. The kernel writes each group's factor to `results`, and raises `found`. For a group with a negative
/// limit it writes the norm, and does not raise `found`.
pub(crate) fn launch(
    cuda: &Cuda,
    grads: &Rows<ClipRow>,
    groups: &[ClipGroupBits],
    factors: &Buffer,
    [found, results]: [&Buffer; 2],
) -> Result<(), Error> {
    // Without any element one block writes factors of 1.
    let blocks = grads.chunks.blocks().max(1);
    let (table, count) = (cuda.table(groups)?, u32::try_from(groups.len()).unwrap_or(u32::MAX));
    let partials = cuda.buffer(CLIP_PARTIAL * blocks as usize)?;
    let (chunks, done) = (grads.chunks, &cuda.shared_buffers()?.done);
    let pass = args![chunks.count, chunks.len, &*table, count, factors, &partials, done];
    let args = [&pass[..], &args![found, results]].concat();
    grads.launch_blocks(cuda, CLIP_GROUPS, blocks, &args)
}

impl Rows<ClipRow> {
    /// Adds the row of a gradient, with the address that [`flag`] gives of it and the number of its type.
    pub(crate) fn add_gradient(&mut self, grad: &Tensor, present: u64, dtype: u32) {
        let (values, len) = (grad.address(), grad.len() as u64);
        let row = |first_chunk| ClipRow { values, present, len, first_chunk, dtype, pad: 0 };
        self.add(grad.len(), row);
    }
}

/// Returns the rows of the gradients, group by group, and the groups.
fn rows(
    cuda: &Cuda,
    clip: &GroupClip<'_, Cuda>,
) -> Result<(Rows<ClipRow>, Vec<ClipGroupBits>), Error> {
    let (grads, mut groups) = (clip.grads, Vec::new());
    let mut set = Rows::of(grads.elements());
    for (group, members) in &clip.groups {
        groups.push(ClipGroupBits {
            first_chunk: set.chunks.count,
            norm: u32::from(group.norm == Norm::Infinity),
            max: group.max,
            name: cuda.names().number(&group.norm_name()),
            pad: 0,
        });
        for grad in members {
            let dtype = supported("clip gradients of", grad.tensor)?;
            set.add_gradient(grad.tensor, flag(grads, grad.place), dtype);
        }
    }
    Ok((set, groups))
}
