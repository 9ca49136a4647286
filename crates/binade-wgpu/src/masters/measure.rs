//! Norms that a step needs before it updates a parameter: that of all gradients together, and those of each tensor.

use super::step::StepBuffers;
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, groups_of, parts,
        structs::{self, CHUNK, MEASURED, count},
    },
    memory::Buffer,
};
use binade_gpu::{Driver, Kernels, Step, StepParam};
use binade_grad_scaler::Norm;

/// Returns a verdict with the norm of all gradients together, for a step whose rules clip by it. The norm of gradients that are unchanged since
/// `unscale` is not computed again.
pub(super) fn norm_of(wgpu: &Wgpu, step: &Step<'_, Wgpu>) -> Result<Option<Buffer>, Error> {
    if !step.clips() {
        return Ok(None);
    }
    let (mut grads, verdict) = (step.grads.clone(), wgpu.copy(&step.found.bits)?);
    wgpu.run_clip(&verdict, grads.measure(wgpu)?, Norm::L2, f32::INFINITY)?;
    Ok(Some(verdict))
}

/// Returns room for what is measured of each chunk of a tensor, one tensor after another, or `None` where nothing is measured.
pub(super) fn partials_of<'a>(
    wgpu: &Wgpu,
    moving: impl Iterator<Item = &'a StepParam<'a, Wgpu>>,
) -> Result<Option<Buffer>, Error> {
    let measured = moving.filter(|one| one.rule.needs_whole_tensors());
    // A part may end within a chunk. The copy of a master in `f16` may have two words an element.
    let chunks_of = |len, each| {
        let parts = parts(len, each, wgpu.facts().most_binding_bytes);
        parts.map(|part| part.len().div_ceil(CHUNK)).sum::<usize>()
    };
    let chunks = measured.map(|one| one.param.len());
    let chunks = chunks.map(|len| chunks_of(len, 4).max(chunks_of(len, 8)).max(1));
    chunks.max().map(|chunks| wgpu.buffer(MEASURED * chunks)).transpose()
}

impl StepBuffers<'_> {
    /// Puts what follows from the norms of a tensor into its constants. `partials` has room for what is measured of its chunks.
    pub(super) fn measure(
        &self,
        wgpu: &Wgpu,
        one: &StepParam<'_, Wgpu>,
        beside: Option<&Tensor>,
        partials: &Buffer,
    ) -> Result<(), Error> {
        let grid = |elements: usize| groups_of(elements.div_ceil(CHUNK));
        let behind = [partials, self.together];
        let chunks =
            self.each_part(wgpu, ("whole_tensors_measure".into(), grid), one, beside, &behind)?;
        let running = match &one.state.norm {
            Some(norm) => Bound::elements(norm, 0..1).0,
            None => Bound::whole(&self.nothing[0]),
        };
        let params = structs::WholeJoin { slot: one.state.number, chunks: count(chunks) };
        let bound = vec![Bound::whole(self.moves), running, Bound::whole(partials)];
        wgpu.dispatch("whole_tensors_join", &params, bound, 1)
    }
}
