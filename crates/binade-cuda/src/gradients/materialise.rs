//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{
    Cuda, Error, Found, Tensor,
    kernels::MATERIALISE,
    launch::{
        Arg,
        structs::{FoundBits, MaterialiseRow, NO_GROUP},
    },
    memory::Buffer,
    set::Rows,
};
use binade_core::{DType, GradSet, Named, NamedGrads, TrainError};

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

impl GradSet for Cuda {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = Found;

    fn train_error(&self, error: TrainError) -> Error {
        error.into()
    }

    /// Waits for the device.
    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        self.has_made(found.buffer())?;
        let bytes = self.read(found.buffer())?;
        let bits: FoundBits = bytemuck::pod_read_unaligned(&bytes);
        Ok(bits.raised != 0 || bits.halted != 0)
    }

    /// Of a window, whether a gradient is there the device knows: it is asked, which waits.
    fn materialise(&self, grads: Gradients) -> Result<NamedGrads<Tensor>, Error> {
        let mut settled = grads.settled(self, f32::INFINITY)?;
        let Some(present) = &settled.present else { return Ok(settled.entries) };
        let words = self.read(present)?;
        let (words, _) = words.as_chunks::<4>();
        let absent = settled.entries.iter_mut().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.for_each(|(entry, _)| entry.value = None);
        Ok(settled.entries)
    }
}
