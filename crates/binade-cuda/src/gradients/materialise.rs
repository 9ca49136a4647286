//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{
    Cuda, Error, Tensor,
    kernels::{MATERIALISE, THREADS},
    launch::{
        Arg, Grid,
        structs::{MaterialiseRow, NO_GROUP},
    },
    memory::Buffer,
    set::Chunks,
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
        let mut chunks = Chunks::of(self.elements());
        let pairs = self.present().zip(entries.iter().filter_map(|entry| entry.value.as_ref()));
        let row = |(grad, result): (super::Present<'_>, &Tensor)| {
            let len = grad.tensor.len() as u64;
            Ok(MaterialiseRow {
                values: grad.tensor.address(),
                result: result.address(),
                present: grad.flag,
                len,
                first_chunk: chunks.add(len),
                dtype: supported("materialise gradients of", grad.tensor)?,
                group: factors.and_then(|factors| factors.number(grad.place)).unwrap_or(NO_GROUP),
            })
        };
        let rows = pairs.map(row).collect::<Result<Vec<_>, Error>>()?;
        let factors = factors.map_or(0, |factors| factors.of_groups.address());
        self.run(cuda, &rows, chunks, (factors, limit))?;
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }

    fn unset_like(&self, cuda: &Cuda) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let one = |entry: &Named<Option<Tensor>>| {
            let like = |tensor: &Tensor| cuda.unset(DType::F32, tensor.shape());
            let value = entry.value.as_ref().map(like).transpose()?;
            Ok(Named { name: entry.name.clone(), value })
        };
        self.entries.iter().map(one).collect()
    }

    fn run(
        &self,
        cuda: &Cuda,
        rows: &[MaterialiseRow],
        chunks: Chunks,
        (factors, limit): (u64, f32),
    ) -> Result<(), Error> {
        if chunks.count == 0 {
            return Ok(());
        }
        let table = cuda.table(rows)?;
        let grid = Grid { blocks: chunks.blocks(), threads: THREADS };
        let args = [
            Arg::Address(table.address()),
            Arg::U32(u32::try_from(rows.len()).unwrap_or(u32::MAX)),
            Arg::U64(chunks.len),
            Arg::Address(self.owed(cuda)?),
            Arg::Address(factors),
            Arg::F32(limit),
        ];
        cuda.launch(&MATERIALISE, grid, &args)
    }
}

impl Factors<'_> {
    /// The number of the factor of an entry.
    fn number(&self, place: usize) -> Option<u32> {
        let group = (*self.places.get(place)?)?;
        Some(u32::try_from(group).unwrap_or(NO_GROUP))
    }
}
