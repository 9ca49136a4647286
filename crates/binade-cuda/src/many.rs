//! Many tensors at once, which are no set of gradients: one launch, whatever their number and sizes.

use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::{CAST_SET, L2NORM, THREADS},
    launch::{
        Arg, Grid,
        structs::{CastRow, NormRow},
    },
    set::Chunks,
};
use binade_core::DType;

impl Cuda {
    /// Copies of `tensors` in another element type, each element rounded once, to nearest even; what overflows is
    /// infinite, or NaN where there is no infinity.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn cast_all(&self, tensors: &[Tensor], to: DType) -> Result<Vec<Tensor>, Error> {
        let to_dtype = code("cast to", to)?;
        let results = tensors.iter().map(|tensor| self.unset(to, tensor.shape()));
        let results = results.collect::<Result<Vec<_>, Error>>()?;
        let mut chunks = Chunks::of(elements(tensors));
        let row = |(from, to): (&Tensor, &Tensor)| {
            self.has_made(from.buffer())?;
            let len = from.len() as u64;
            let (from_dtype, first_chunk) = (code("cast", from.dtype())?, chunks.add(len));
            let (from, to) = (from.address(), to.address());
            Ok(CastRow { from, to, len, first_chunk, from_dtype, to_dtype })
        };
        let rows = tensors.iter().zip(&results).map(row).collect::<Result<Vec<_>, Error>>()?;
        if chunks.count > 0 {
            let table = self.table(&rows)?;
            let args =
                [Arg::Address(table.address()), Arg::U32(count(&rows)), Arg::U64(chunks.len)];
            let grid = Grid { blocks: chunks.blocks(), threads: THREADS };
            self.launch(&CAST_SET, grid, &args)?;
        }
        Ok(results)
    }

    /// The L2 norm of all elements of `tensors` together, as an `f32` scalar on the device: summed in `f64` in an order that
    /// follows from the lengths alone, so that it has the same bits on every GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn l2_norm(&self, tensors: &[Tensor]) -> Result<Tensor, Error> {
        let norm = self.unset(DType::F32, &[])?;
        let mut chunks = Chunks::of(elements(tensors));
        let row = |tensor: &Tensor| {
            self.has_made(tensor.buffer())?;
            let (values, len) = (tensor.address(), tensor.len() as u64);
            let dtype = code("take the norm of", tensor.dtype())?;
            Ok(NormRow { values, len, first_chunk: chunks.add(len), dtype, pad: 0 })
        };
        let rows = tensors.iter().map(row).collect::<Result<Vec<_>, Error>>()?;
        // Without any element one block writes 0.
        let blocks = chunks.blocks().max(1);
        let table = self.table(&rows)?;
        let partials = self.buffer(size_of::<f64>() * blocks as usize)?;
        let args = [
            Arg::Address(table.address()),
            Arg::U32(count(&rows)),
            Arg::U64(chunks.count),
            Arg::U64(chunks.len),
            Arg::Address(partials.address()),
            Arg::Address(self.fixed()?.done.address()),
            Arg::Address(norm.address()),
        ];
        self.launch(&L2NORM, Grid { blocks, threads: THREADS }, &args)?;
        Ok(norm)
    }
}

fn elements(tensors: &[Tensor]) -> u64 {
    tensors.iter().map(|tensor| tensor.len() as u64).sum()
}

fn count<Row>(rows: &[Row]) -> u32 {
    u32::try_from(rows.len()).unwrap_or(u32::MAX)
}
