//! Clipping by groups: one launch measures them all, one multiplies.

use super::Found;
use crate::{
    Cuda, Error, Gradients,
    gradients::{Factors, Present, supported},
    kernels::CLIP_GROUPS,
    launch::{
        Arg,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
    memory::Buffer,
    set::Rows,
};
use binade_grad_scaler::{ClipGroup, Norm};

impl Cuda {
    /// Clips by groups. The gradients are `f32` tensors afterwards, whether or not a group was clipped: only the device knows.
    pub(super) fn clip_by_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        let places = ClipGroup::places(groups, grads.names().map(|name| &**name))?;
        grads.are_of(self)?;
        self.has_made(&verdict.bits)?;
        if groups.is_empty() {
            return Ok(());
        }
        let table = Measured::of(self, grads, groups, &places)?;
        let of_groups = self.buffer(size_of::<f32>() * groups.len())?;
        verdict.own(self)?;
        table.run(self, grads, verdict, &of_groups)?;
        let factors = Factors { of_groups: &of_groups, places: &places };
        *grads = grads.settled_by(self, Some(&factors), f32::INFINITY)?;
        Ok(())
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
        let mut members: Vec<Vec<Present<'_>>> = groups.iter().map(|_| Vec::new()).collect();
        for grad in grads.present() {
            let place = places.get(grad.place).copied().flatten();
            if let Some(group) = place.and_then(|place| members.get_mut(place)) {
                group.push(grad);
            }
        }
        let mut measured = Self { set: Rows::of(grads.elements()), groups: Vec::new() };
        for (group, members) in groups.iter().zip(members) {
            measured.add(cuda, group, &members)?;
        }
        Ok(measured)
    }

    fn add(
        &mut self,
        cuda: &Cuda,
        group: &ClipGroup,
        members: &[Present<'_>],
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
            let (values, present) = (grad.tensor.address(), grad.flag);
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
        verdict: &Found,
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
            Arg::Address(grads.owed(cuda)?),
            Arg::Address(partials.address()),
            Arg::Address(cuda.fixed()?.done.address()),
            Arg::Address(verdict.bits.address()),
            Arg::Address(factors.address()),
        ];
        self.set.launch_blocks(cuda, &CLIP_GROUPS, blocks, &args)
    }
}
