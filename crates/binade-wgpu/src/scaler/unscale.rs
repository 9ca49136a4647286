//! The read-only pass over a set.

use super::Scale;
use crate::{
    Error, Found, Gradients, Wgpu,
    dispatch::{
        Bound, groups_of, parts,
        structs::{self, CHUNK, FoundBits, OwedBits, PARTIAL, count},
    },
    gradients::{flag, flags, supported},
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_gpu::{Driver, Present};
use std::{ops::Range, sync::Arc};

pub(super) const UNSCALE: Shader = Shader {
    name: "unscale",
    file: "unscale",
    params: size_of::<structs::Unscale>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Write)],
};

pub(super) const UNSCALE_JOIN: Shader = Shader {
    name: "unscale_join",
    params: size_of::<structs::Join>(),
    bindings: &[(1, Read), (2, Write), (3, Read), (4, Write)],
    ..UNSCALE
};

impl Wgpu {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then.
    pub(super) fn inspect(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        grads.check_owner(self)?;
        self.has_made(&scale.bits)?;
        let all: Vec<_> = grads.present().collect();
        let (found, owed) = self.look(grads, &all, scale)?;
        grads.owed = Some(Arc::new(owed));
        grads.is_measured = true;
        Ok(Found::of(found, grads))
    }

    /// Looks at these of a set: what is found of them, and what they are owed then.
    pub(super) fn look(
        &self,
        grads: &Gradients,
        members: &[Present<'_, Wgpu>],
        scale: &Scale,
    ) -> Result<(Buffer, Buffer), Error> {
        let dtypes = members.iter().map(|grad| supported("unscale gradients of", grad.tensor));
        let dtypes = dtypes.collect::<Result<Vec<_>, Error>>()?;
        let partials = self.partials(members)?;
        let chunks = self.look_at_chunks(grads, members.iter().zip(dtypes), scale, &partials)?;
        let (found, owed) =
            (self.buffer(size_of::<FoundBits>())?, self.buffer(size_of::<OwedBits>())?);
        let whole = [&partials, &found, &scale.bits, &owed].map(|it: &Buffer| Bound::whole(it));
        self.dispatch(&UNSCALE_JOIN, &structs::Join { count: count(chunks) }, whole.into(), 1)?;
        Ok((found, owed))
    }

    /// Room for what is left by each chunk of these, and for one at least.
    fn partials(&self, members: &[Present<'_, Wgpu>]) -> Result<Buffer, Error> {
        let chunks = members.iter().map(|grad| {
            self.pieces(grad.tensor.len()).map(|piece| piece.len().div_ceil(CHUNK)).sum::<usize>()
        });
        self.buffer(chunks.sum::<usize>().max(1) * PARTIAL)
    }

    /// Parts of a tensor of so many elements.
    fn pieces(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        parts(len, 4, self.facts().most_binding_bytes)
    }

    /// Leaves a partial for each chunk; gives their number.
    fn look_at_chunks<'g>(
        &self,
        grads: &Gradients,
        members: impl Iterator<Item = (&'g Present<'g, Wgpu>, u32)> + Clone,
        scale: &Scale,
        partials: &Buffer,
    ) -> Result<usize, Error> {
        let mut first_partial = 0;
        let numbers = self.names().numbers(members.clone().map(|(grad, _)| grad.name));
        for ((grad, dtype), parameter) in members.zip(numbers) {
            for piece in self.pieces(grad.tensor.len()) {
                let (values, start) = Bound::elements(grad.tensor, piece.clone());
                let chunks = piece.len().div_ceil(CHUNK);
                let params = structs::Unscale {
                    len: count(piece.len()),
                    dtype,
                    start,
                    parameter,
                    chunks: count(chunks),
                    first_partial: count(first_partial),
                    flag: flag(grads, grad.place),
                    before: count(piece.start),
                };
                let (flags, rest) = (flags(grads, self)?, Bound::whole(partials));
                let bound = vec![values, flags, Bound::whole(&scale.bits), rest];
                self.dispatch(&UNSCALE, &params, bound, groups_of(chunks))?;
                first_partial += chunks;
            }
        }
        Ok(first_partial)
    }
}
