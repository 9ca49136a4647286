//! Clipping by groups: one launch measures them all, one multiplies.

use super::Found;
use crate::{
    Cuda, Error, Gradients,
    gradients::{Factors, Present, supported},
    kernels::{CLIP_GROUPS, THREADS},
    launch::{
        Arg, Grid,
        structs::{CLIP_PARTIAL, ClipGroupBits, ClipRow},
    },
    memory::Buffer,
    set::Chunks,
};
use binade_grad_scaler::{ClipGroup, ClipGroups, Norm};

impl ClipGroups for Cuda {
    /// The gradients are `f32` tensors afterwards, whether or not a group was clipped: only the device knows.
    fn clip_groups(
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
    rows: Vec<ClipRow>,
    groups: Vec<ClipGroupBits>,
    chunks: Chunks,
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
        let chunks = Chunks::of(grads.elements());
        let mut measured = Self { rows: Vec::new(), groups: Vec::new(), chunks };
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
            first_chunk: self.chunks.count,
            norm: u32::from(group.norm == Norm::Infinity),
            max: group.max,
            name: cuda.names().number(&group.norm_name()),
            pad: 0,
        });
        for grad in members {
            let len = grad.tensor.len() as u64;
            self.rows.push(ClipRow {
                values: grad.tensor.address(),
                present: grad.flag,
                len,
                first_chunk: self.chunks.add(len),
                dtype: supported("clip gradients of", grad.tensor)?,
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
        let blocks = self.chunks.blocks().max(1);
        let (rows, groups) = (cuda.table(&self.rows)?, cuda.table(&self.groups)?);
        let partials = cuda.buffer(CLIP_PARTIAL * blocks as usize)?;
        let args = [
            Arg::Address(rows.address()),
            Arg::U32(count(&self.rows)),
            Arg::U64(self.chunks.count),
            Arg::U64(self.chunks.len),
            Arg::Address(groups.address()),
            Arg::U32(count(&self.groups)),
            Arg::Address(grads.owed(cuda)?),
            Arg::Address(partials.address()),
            Arg::Address(cuda.fixed()?.done.address()),
            Arg::Address(verdict.bits.address()),
            Arg::Address(factors.address()),
        ];
        cuda.launch(&CLIP_GROUPS, Grid { blocks, threads: THREADS }, &args)
    }
}

fn count<Row>(rows: &[Row]) -> u32 {
    u32::try_from(rows.len()).unwrap_or(u32::MAX)
}
