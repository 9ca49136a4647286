//! Values written where tensors and flags lie already: between replays of a captured step, and after a reduction among devices.

use crate::{
    Cuda, Error, Tensor,
    kernels::CAST,
    launch::{Grid, args, code},
};
use binade_core::DType;
use binade_gpu::{Driver, check_length};

impl Cuda {
    /// Writes values into a tensor in place, rounded once to its type, after earlier work of the stream.
    ///
    /// # Contract
    ///
    /// Unlike other operations, this changes clones and slices of the tensor, and captured steps that read it see the new values. The host waits only
    /// if copies of 256 MiB are in progress, and [`syncs`](crate::DeviceCounters::syncs) counts the wait.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as the tensor has elements, [`Error::Unsupported`] for integers, and in the
    /// captured run of a [`capture`](Self::capture).
    pub fn write(&self, tensor: &Tensor, values: &[f32]) -> Result<(), Error> {
        check_length::<Self>("elements", values.len(), tensor.shape(), 1)?;
        self.check_owner(tensor.buffer())?;
        self.check_writable("write", tensor.buffer())?;
        let (bytes, to) = (bytemuck::cast_slice(values), code("write to", tensor.dtype())?);
        if tensor.dtype() == DType::F32 {
            return self.put_counted(bytes, tensor);
        }
        let wide = self.from_bits(bytes, DType::F32, tensor.shape())?;
        let args = args![&wide, code("write", DType::F32)?, tensor, to, tensor.len(), 0_u32];
        let launched = self.launch(CAST, Grid::elementwise(tensor.len()), &args);
        tensor.buffer().count_write();
        launched
    }

    /// Writes the little-endian bytes of elements into a tensor of any type, as [`write`](Self::write) does: indices, keys and
    /// counters among them.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as the tensor has, and in the captured run of a
    /// [`capture`](Self::capture).
    pub fn write_bits(&self, tensor: &Tensor, bytes: &[u8]) -> Result<(), Error> {
        check_length::<Self>("bytes", bytes.len(), tensor.shape(), tensor.dtype().bytes())?;
        self.check_writable("write_bits", tensor.buffer())?;
        self.put_counted(bytes, tensor)
    }

    /// Writes bytes, and counts the write even if it fails, since some elements may have been written.
    fn put_counted(&self, bytes: &[u8], tensor: &Tensor) -> Result<(), Error> {
        let put = self.put(bytes, tensor.buffer(), tensor.range().start);
        tensor.buffer().count_write();
        put
    }
}
