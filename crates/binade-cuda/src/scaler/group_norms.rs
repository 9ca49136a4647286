//! Norms of groups of gradients.

use crate::{
    Cuda, Error,
    chunks::{Rows, flag, supported},
    kernels::CLIP_GROUPS,
    launch::{
        args,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
};
use binade_gpu::{Driver, GroupClip};
use binade_grad_scaler::Norm;

impl Cuda {
    /// Measures all groups in one launch, writes their factors, and raises the verdict.
    pub(super) fn measure_groups(&self, clip: &GroupClip<'_, Self>) -> Result<(), Error> {
        let (set, groups) = rows(self, clip)?;
        // Without any element one block writes factors of 1.
        let blocks = set.chunks.blocks().max(1);
        let (table, count) = (self.table(&groups)?, u32::try_from(groups.len()));
        let partials = self.buffer(CLIP_PARTIAL * blocks as usize)?;
        let (chunks, factors) = (set.chunks, clip.grads.pending_factors(self)?);
        let done = &self.shared_buffers()?.done;
        let (table, count) = (&*table, count.unwrap_or(u32::MAX));
        let pass = args![chunks.count, chunks.len, table, count, factors, &partials, done];
        let args = [&pass[..], &args![clip.verdict, clip.factors]].concat();
        set.launch_blocks(self, CLIP_GROUPS, blocks, &args)
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
            let (values, present) = (grad.tensor.address(), flag(grads, grad.place));
            let dtype = supported("clip gradients of", grad.tensor)?;
            let len = grad.tensor.len() as u64;
            let row = ClipRow { values, present, len, first_chunk: 0, dtype, pad: 0 };
            set.add(grad.tensor.len(), |first_chunk| ClipRow { first_chunk, ..row });
        }
    }
    Ok((set, groups))
}
