//! Masters in `f16` with one exponent per tensor. A step unpacks them into an `f32` copy, and packs them again at its end, since the exponent depends
//! on all new values.

use crate::{
    Cuda, Error, Tensor,
    chunks::Rows,
    kernels::{SCALED_F16_LARGEST, SCALED_F16_OPEN, SCALED_F16_PACK},
    launch::{
        Arg, args,
        structs::{BETWEEN, ScaledRow},
    },
    memory::Buffer,
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_gpu::{Driver, ScaledMaster};
use bytemuck::Zeroable;

/// Alignment of addresses for vector loads, in bytes.
const ALIGNED: usize = 16;

impl Cuda {
    /// The master of these values, of any type; nothing is waited for.
    pub(crate) fn new_scaled_master(&self, values: &Tensor) -> Result<ScaledMaster<Self>, Error> {
        let wide = self.cast(values, DType::F32)?;
        let scaled = ScaledMaster {
            values: self.unset(DType::F16, values.shape())?,
            exponent: Tensor::filling(self.zeros(4)?, DType::I32, &[1]),
            between: self.zeros(BETWEEN)?,
        };
        let mut opened = OpenedMasters::of(values.len() as u64, false);
        let row = row(&scaled, wide.address());
        opened.set.add(values.len(), |first_chunk| ScaledRow { first_chunk, ..row });
        opened.pack(self, [Arg::Address(0); 2])?;
        Ok(scaled)
    }
}

/// The row of a master but for its first chunk and the step's own fields, `wide` being the address of the `f32` copy.
fn row(scaled: &ScaledMaster<Cuda>, wide: u64) -> ScaledRow {
    ScaledRow {
        values: scaled.values.address(),
        exponent: scaled.exponent.address(),
        wide,
        between: scaled.between.address(),
        len: scaled.values.len() as u64,
        ..ScaledRow::zeroed()
    }
}

/// The masters of one step, as `f32` copies that lie in one buffer: the next step finds its tables where this one had its own.
#[derive(Debug)]
pub(super) struct OpenedMasters {
    set: Rows<ScaledRow>,
    /// Bytes of an element: behind a copy whose lost updates are counted lies a word an element.
    each: usize,
    /// Bytes of all copies.
    bytes: usize,
}

impl OpenedMasters {
    /// Creates an empty list of copies, for a set of `elements` elements.
    pub(super) fn of(elements: u64, counts_lost: bool) -> Self {
        Self { set: Rows::of(elements), each: if counts_lost { 8 } else { 4 }, bytes: 0 }
    }

    /// Adds a parameter, and returns the offset of its copy from the first one; `step` has what the step itself is taken with.
    pub(super) fn add(&mut self, scaled: &ScaledMaster<Cuda>, step: ScaledRow) -> u64 {
        let (count, offset) = (scaled.values.len(), self.bytes as u64);
        self.set.add(count, |first_chunk| {
            let ScaledRow { values, exponent, wide, between, len, .. } = row(scaled, offset);
            ScaledRow { values, exponent, wide, between, len, first_chunk, ..step }
        });
        self.bytes += (self.each * count).next_multiple_of(ALIGNED);
        offset
    }

    /// Gives the copies that a step moves, in a buffer that is theirs until they are packed, unless the verdict in `found`
    /// skips it.
    pub(super) fn open(&mut self, cuda: &Cuda, found: &Buffer) -> Result<Buffer, Error> {
        let wide = cuda.buffer(self.bytes)?;
        self.set.rows.iter_mut().for_each(|row| row.wide += wide.address());
        self.launch(cuda, SCALED_F16_OPEN, &args![found])?;
        Ok(wide)
    }

    /// Packs the step's results, and counts lost updates. The arguments are the verdict and the counts.
    pub(super) fn pack(&self, cuda: &Cuda, args: [Arg<'_>; 2]) -> Result<(), Error> {
        self.launch(cuda, SCALED_F16_LARGEST, &args[..1])?;
        self.launch(cuda, SCALED_F16_PACK, &args)
    }

    fn launch(&self, cuda: &Cuda, kernel: &'static str, more: &[Arg<'_>]) -> Result<(), Error> {
        self.set.launch(cuda, kernel, &[&args![self.set.chunks.len], more].concat())
    }
}
