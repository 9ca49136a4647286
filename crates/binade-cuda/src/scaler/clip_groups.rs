//! Clipping by groups: one launch measures them all, one multiplies.

use crate::{
    Cuda, Error, Gradients,
    gradients::{flag, supported},
    kernels::CLIP_GROUPS,
    launch::{
        Arg,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
    memory::Buffer,
    set::Rows,
};
use binade_gpu::{Driver, Factors, Present};
use binade_grad_scaler::{ClipGroup, Norm};

impl Cuda {
    /// One launch that measures all groups, and one that multiplies.
    pub(crate) fn run_clip_groups(
        &self,
        grads: &Gradients,
        groups: &[ClipGroup],
        factors: &Factors<'_, Self>,
        verdict: &Buffer,
    ) -> Result<Gradients, Error> {
        let measured = Measured::of(self, grads, groups, factors.places)?;
        measured.run(self, grads, verdict, factors.of_groups)?;
        grads.settled_by(self, Some(factors), f32::INFINITY)
    }
}

/// What is to be measured, group by group.
struct Measured {
    set: Rows<ClipRow>,
    groups: Vec<ClipGroupBits>,
}

impl Measured {
    fn of(
        cuda: &Cuda,
        grads: &Gradients,
        groups: &[ClipGroup],
        places: &[Option<usize>],
    ) -> Result<Self, Error> {
        let mut members: Vec<Vec<Present<'_, Cuda>>> = groups.iter().map(|_| Vec::new()).collect();
        for grad in grads.present() {
            let place = places.get(grad.place).copied().flatten();
            if let Some(group) = place.and_then(|place| members.get_mut(place)) {
                group.push(grad);
            }
        }
        let mut measured = Self { set: Rows::of(grads.elements()), groups: Vec::new() };
        for (group, members) in groups.iter().zip(members) {
            measured.add(cuda, grads, group, &members)?;
        }
        Ok(measured)
    }

    fn add(
        &mut self,
        cuda: &Cuda,
        grads: &Gradients,
        group: &ClipGroup,
        members: &[Present<'_, Cuda>],
    ) -> Result<(), Error> {
        self.groups.push(ClipGroupBits {
            first_chunk: self.set.chunks.count,
            norm: u32::from(group.norm == Norm::Infinity),
            max: group.max,
            name: cuda.names().number(&group.norm_name()),
            pad: 0,
        });
        for grad in members {
            let dtype = supported("clip gradients of", grad.tensor)?;
            let (values, present) = (grad.tensor.address(), flag(grads, grad.place));
            let len = grad.tensor.len() as u64;
            self.set.add(grad.tensor.len(), |first_chunk| ClipRow {
                values,
                present,
                len,
                first_chunk,
                dtype,
                pad: 0,
            });
        }
        Ok(())
    }

    /// Writes the groups' factors, and raises the verdict.
    fn run(
        &self,
        cuda: &Cuda,
        grads: &Gradients,
        verdict: &Buffer,
        factors: &Buffer,
    ) -> Result<(), Error> {
        // Without any element one block writes factors of 1.
        let blocks = self.set.chunks.blocks().max(1);
        let groups = cuda.table(&self.groups)?;
        let partials = cuda.buffer(CLIP_PARTIAL * blocks as usize)?;
        let args = [
            Arg::U64(self.set.chunks.count),
            Arg::U64(self.set.chunks.len),
            Arg::Address(groups.address()),
            Arg::U32(u32::try_from(self.groups.len()).unwrap_or(u32::MAX)),
            Arg::Address(grads.owed(cuda)?.address()),
            Arg::Address(partials.address()),
            Arg::Address(cuda.fixed()?.done.address()),
            Arg::Address(verdict.address()),
            Arg::Address(factors.address()),
        ];
        self.set.launch_blocks(cuda, &CLIP_GROUPS, blocks, &args)
    }
}
