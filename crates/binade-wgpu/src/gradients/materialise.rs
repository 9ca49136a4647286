//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{
    Error, Found, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, FoundBits, NO_GROUP, count},
    },
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, GradSet, Named, NamedGrads, TrainError};

pub(crate) const MATERIALISE: Shader = Shader {
    name: "materialise",
    file: "materialise",
    params: size_of::<structs::Materialise>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write)],
};

/// What groups of a set are multiplied by, on the device.
pub(crate) struct Factors<'a> {
    /// One `f32` a group.
    pub(crate) of_groups: &'a Buffer,
    /// Of each entry, its group's place.
    pub(crate) places: &'a [Option<usize>],
}

impl Gradients {
    /// The same set with nothing left to multiply: new `f32` tensors, elements beyond `limit` brought within.
    pub(crate) fn settled(&self, wgpu: &Wgpu, limit: f32) -> Result<Self, Error> {
        self.settled_by(wgpu, None, limit)
    }

    /// The same, with the factors of groups multiplied in last.
    pub(crate) fn settled_by(
        &self,
        wgpu: &Wgpu,
        factors: Option<&Factors<'_>>,
        limit: f32,
    ) -> Result<Self, Error> {
        self.are_of(wgpu)?;
        let entries = self.unset_like(wgpu)?;
        for grad in self.present() {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let result = entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let Some(result) = result else { continue };
            let group = factors.and_then(|factors| factors.number(grad.place));
            for part in parts(result.len(), 4, wgpu.facts().most_binding_bytes) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, _) = Bound::elements(result, part.clone());
                let params = structs::Materialise {
                    len: count(part.len()),
                    dtype,
                    start,
                    flag: self.flag(grad.place),
                    group: group.unwrap_or(NO_GROUP),
                    limit,
                };
                let of_groups = factors.map_or(&*wgpu.fixed()?.there, |it| it.of_groups);
                let (flags, owed) = (self.flags(wgpu)?, self.owed(wgpu)?);
                let bound = vec![values, flags, owed, Bound::whole(of_groups), output];
                wgpu.dispatch(&MATERIALISE, &params, bound, groups(part.len()))?;
            }
        }
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }

    fn unset_like(&self, wgpu: &Wgpu) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let one = |entry: &Named<Option<Tensor>>| {
            let like = |tensor: &Tensor| wgpu.unset(DType::F32, tensor.shape());
            let value = entry.value.as_ref().map(like).transpose()?;
            Ok(Named { name: entry.name.clone(), value })
        };
        self.entries.iter().map(one).collect()
    }
}

impl GradSet for Wgpu {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = Found;

    fn train_error(&self, error: TrainError) -> Error {
        error.into()
    }

    /// Waits for the device.
    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        let bits = found.buffer();
        self.has_made(bits)?;
        let bytes = self.receive(&self.send(bits, 0..bits.bytes())?)?;
        let bits: FoundBits = bytemuck::pod_read_unaligned(&bytes);
        Ok(bits.raised != 0 || bits.halted != 0)
    }

    /// Of a window, whether a gradient is there the device knows: it is asked, which waits.
    fn materialise(&self, grads: Gradients) -> Result<NamedGrads<Tensor>, Error> {
        let mut settled = grads.settled(self, f32::INFINITY)?;
        let Some(present) = settled.present.as_ref().filter(|words| words.bytes() > 0) else {
            return Ok(settled.entries);
        };
        let words = self.receive(&self.send(present, 0..present.bytes())?)?;
        let (words, _) = words.as_chunks::<4>();
        let absent = settled.entries.iter_mut().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.for_each(|(entry, _)| entry.value = None);
        Ok(settled.entries)
    }
}

impl Factors<'_> {
    /// The number of the factor of an entry.
    fn number(&self, place: usize) -> Option<u32> {
        Some(count((*self.places.get(place)?)?))
    }
}
