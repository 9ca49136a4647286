//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{
    Cuda, Error, Tensor,
    kernels::MATERIALISE,
    launch::{
        Arg,
        structs::{MaterialiseRow, NO_GROUP},
    },
    memory::Buffer,
    set::Rows,
};
use binade_core::{DType, Named};

/// What groups of a set are multiplied by, on the device.
pub(crate) struct Factors<'a> {
    /// One `f32` a group.
    pub(crate) of_groups: &'a Buffer,
    /// Of each entry, its group's place.
    pub(crate) places: &'a [Option<usize>],
}

impl Gradients {
    /// The same set with nothing left to multiply: new `f32` tensors, elements beyond `limit` brought within.
    pub(crate) fn settled(&self, cuda: &Cuda, limit: f32) -> Result<Self, Error> {
        self.settled_by(cuda, None, limit)
    }

    /// The same, with the factors of groups multiplied in last.
    pub(crate) fn settled_by(
        &self,
        cuda: &Cuda,
        factors: Option<&Factors<'_>>,
        limit: f32,
    ) -> Result<Self, Error> {
        self.are_of(cuda)?;
        let entries = self.unset_like(cuda)?;
        self.settle_into(cuda, &entries, factors, limit)?;
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }

    /// Writes the values of those that are there into the entries of `results` at their places, which are `f32` and as long.
    pub(crate) fn settle_into(
        &self,
        cuda: &Cuda,
        results: &[Named<Option<Tensor>>],
        factors: Option<&Factors<'_>>,
        limit: f32,
    ) -> Result<(), Error> {
        let mut set = Rows::of(self.elements());
        for grad in self.present() {
            let Some(result) = results.get(grad.place).and_then(|entry| entry.value.as_ref())
            else {
                continue;
            };
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let (result, present) = (result.address(), grad.flag);
            let group = factors.and_then(|factors| factors.number(grad.place)).unwrap_or(NO_GROUP);
            set.add(grad.tensor.len(), |first_chunk| MaterialiseRow {
                values,
                result,
                present,
                len,
                first_chunk,
                dtype,
                group,
            });
        }
        let (owed, chunk_len) = (Arg::Address(self.owed(cuda)?), Arg::U64(set.chunks.len));
        let factors = Arg::Address(factors.map_or(0, |factors| factors.of_groups.address()));
        set.launch(cuda, &MATERIALISE, &[chunk_len, owed, factors, Arg::F32(limit)])
    }

    fn unset_like(&self, cuda: &Cuda) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let one = |entry: &Named<Option<Tensor>>| {
            let like = |tensor: &Tensor| cuda.unset(DType::F32, tensor.shape());
            let value = entry.value.as_ref().map(like).transpose()?;
            Ok(Named { name: entry.name.clone(), value })
        };
        self.entries.iter().map(one).collect()
    }
}

impl Factors<'_> {
    /// The number of the factor of an entry.
    fn number(&self, place: usize) -> Option<u32> {
        let group = (*self.places.get(place)?)?;
        Some(u32::try_from(group).unwrap_or(NO_GROUP))
    }
}
