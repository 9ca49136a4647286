//! Work that does nothing but what the device does at best: what benchmarks hold the kernels against.

use crate::{
    Cuda, Error, Tensor,
    kernels::{IN_PLACE, NOTHING, READ_ONLY, THREADS},
    launch::{Arg, Grid, args},
};
use binade_gpu::Driver;

/// Bytes that a block of `read_only` and `in_place` takes, as the kernels' `THREADS * EACH` words of 16.
const BLOCK: usize = 1 << 14;

/// A key that comes up once in 2^32 threads of random data, and does no harm then.
const KEY: u32 = 0x9e37_79b9;

impl Cuda {
    /// Launches a kernel that does nothing.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn launch_nothing(&self) -> Result<(), Error> {
        self.launch(NOTHING, Grid::one(THREADS), &[])
    }

    /// A tensor with the same elements in memory of its own, copied by the driver.
    ///
    /// # Errors
    ///
    /// When the device fails, or its memory is full.
    pub fn duplicate(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        self.copy_tensor(tensor)
    }

    /// Reads the memory that a tensor lies in, up to the last whole 16 KiB, and writes nothing, as fast as it goes.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn read_through(&self, tensor: &Tensor) -> Result<(), Error> {
        // Alive until the launch: memory that is given back may be another thread's by then.
        let sink = self.buffer(4)?;
        self.over(READ_ONLY, tensor, &args![&sink, KEY])
    }

    /// Reads the memory that a tensor lies in, up to the last whole 16 KiB, and writes it back as it was, as fast as it
    /// goes.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn rewrite(&self, tensor: &mut Tensor) -> Result<(), Error> {
        tensor.own(self)?;
        self.over(IN_PLACE, tensor, &args![0_u32])
    }

    /// From the start of the buffer, which is aligned as both kernels need it.
    fn over(&self, kernel: &'static str, tensor: &Tensor, more: &[Arg<'_>]) -> Result<(), Error> {
        let buffer = tensor.buffer();
        self.check_owner(buffer)?;
        let blocks = u32::try_from(buffer.bytes() / BLOCK).unwrap_or(u32::MAX);
        if blocks == 0 {
            return Ok(());
        }
        let args = [&args![buffer], more].concat();
        self.launch(kernel, Grid { blocks, threads: THREADS }, &args)
    }
}
