//! Reference passes, as a baseline for benchmarks of kernels.

use crate::{
    Cuda, Error, Tensor,
    adopt::check_aligned,
    kernels::{IN_PLACE, NOTHING, READ_ONLY, THREADS},
    launch::{Arg, Grid, args},
};
use binade_gpu::Driver;

/// Bytes that a block of `read_only` and `in_place` takes, as the kernels' `THREADS * EACH` words of 16.
const BLOCK: usize = 1 << 14;

/// A key that comes up once in 2^32 threads of random data, and does no harm then.
const KEY: u32 = 0x9e37_79b9;

/// Pass that only moves bytes: a lower bound for the time of kernels that move as many.
#[derive(Debug)]
pub enum ReferencePass<'t> {
    /// An empty launch.
    Nothing,
    /// Reads the memory that a tensor lies in, up to the last whole 16 KiB, and writes nothing.
    Read(&'t Tensor),
    /// Reads the memory that a tensor lies in, up to the last whole 16 KiB, and writes it back as it was.
    Rewrite(&'t mut Tensor),
}

impl Cuda {
    /// Returns a copy of the tensor, made by the driver.
    ///
    /// # Errors
    ///
    /// When the device fails, or its memory is full.
    pub fn duplicate(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        self.copy_tensor(tensor)
    }

    /// Puts a reference pass in the stream.
    ///
    /// # Errors
    ///
    /// When the device fails, or the tensor is another handle's.
    pub fn reference_pass(&self, pass: ReferencePass<'_>) -> Result<(), Error> {
        match pass {
            ReferencePass::Nothing => self.launch(NOTHING, Grid::one(THREADS), &[]),
            ReferencePass::Read(tensor) => {
                // Alive until the launch: memory that is given back may be another thread's by then.
                let sink = self.buffer(4)?;
                self.over(READ_ONLY, tensor, &args![&sink, KEY])
            }
            ReferencePass::Rewrite(tensor) => {
                self.own_tensor(tensor)?;
                self.over(IN_PLACE, tensor, &args![0_u32])
            }
        }
    }

    /// Launches over a whole buffer, whose start has the alignment that both kernels need.
    fn over(&self, kernel: &'static str, tensor: &Tensor, more: &[Arg<'_>]) -> Result<(), Error> {
        let buffer = tensor.buffer();
        self.check_owner(buffer)?;
        // Adopted memory may begin anywhere.
        check_aligned(kernel, buffer.address(), 16)?;
        let blocks = u32::try_from(buffer.bytes() / BLOCK).unwrap_or(u32::MAX);
        if blocks == 0 {
            return Ok(());
        }
        let args = [&args![buffer], more].concat();
        self.launch(kernel, Grid { blocks, threads: THREADS }, &args)
    }
}
