//! Norms of groups of gradients.

use crate::{
    Cuda, Error,
    chunks::Rows,
    gradients::{flag, supported},
    kernels::CLIP_GROUPS,
    launch::{
        args,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
};
use binade_gpu::{Driver, GroupClip};
use binade_grad_scaler::Norm;

/// Rows of the kernel that measures groups, group by group.
pub(super) struct GroupNormRows {
    set: Rows<ClipRow>,
    groups: Vec<ClipGroupBits>,
}

impl GroupNormRows {
    pub(super) fn of(cuda: &Cuda, clip: &GroupClip<'_, Cuda>) -> Result<Self, Error> {
        let grads = clip.grads;
        let mut measured = Self { set: Rows::of(grads.elements()), groups: Vec::new() };
        for (group, members) in &clip.groups {
            measured.groups.push(ClipGroupBits {
                first_chunk: measured.set.chunks.count,
                norm: u32::from(group.norm == Norm::Infinity),
                max: group.max,
                name: cuda.names().number(&group.norm_name()),
                pad: 0,
            });
            for grad in members {
                let dtype = supported("clip gradients of", grad.tensor)?;
                let (values, present) = (grad.tensor.address(), flag(grads, grad.place));
                let len = grad.tensor.len() as u64;
                measured.set.add(grad.tensor.len(), |first_chunk| ClipRow {
                    values,
                    present,
                    len,
                    first_chunk,
                    dtype,
                    pad: 0,
                });
            }
        }
        Ok(measured)
    }

    /// Writes the groups' factors, and raises the verdict.
    pub(super) fn run(&self, cuda: &Cuda, clip: &GroupClip<'_, Cuda>) -> Result<(), Error> {
        // Without any element one block writes factors of 1.
        let blocks = self.set.chunks.blocks().max(1);
        let groups = cuda.table(&self.groups)?;
        let partials = cuda.buffer(CLIP_PARTIAL * blocks as usize)?;
        let (chunks, owed) = (self.set.chunks, clip.grads.pending_factors(cuda)?);
        let (count, done) =
            (u32::try_from(self.groups.len()).unwrap_or(u32::MAX), &cuda.fixed()?.done);
        let args = args![
            chunks.count,
            chunks.len,
            &*groups,
            count,
            owed,
            &partials,
            done,
            clip.verdict,
            clip.factors
        ];
        self.set.launch_blocks(cuda, CLIP_GROUPS, blocks, &args)
    }
}
