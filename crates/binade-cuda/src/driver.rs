//! CUDA as a driver of the shared host code.

use crate::{
    Cuda, CudaError, Error, Tensor,
    memory::{Buffer, Memory, Pool, view, view_mut},
};
use binade_core::{DType, Names};
use binade_gpu::Driver;
use binade_ops::shape;
use std::{any::Any, ops::Range, sync::Arc};

impl Driver for Cuda {
    const NAME: &'static str = "cuda";
    type Memory = Memory;
    type Failure = CudaError;

    fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    fn names(&self) -> &Names {
        &self.inner.names
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer, Error> {
        Self::buffer(self, bytes)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        Self::buffer_of(self, bytes)
    }

    fn zeros(&self, bytes: usize) -> Result<Buffer, Error> {
        Self::zeros(self, bytes)
    }

    fn copy(&self, from: &Buffer) -> Result<Buffer, Error> {
        self.copy_part(from, 0..from.bytes())
    }

    fn grown(&self, from: &Buffer, bytes: usize) -> Result<Buffer, Error> {
        self.has_made(from)?;
        let mut to = self.zeros(bytes)?;
        let words = vec![from.address(), to.address(), from.bytes() as u64];
        if let (1.., Some(from), Some(mut to)) =
            (from.bytes(), view(from, 0..from.bytes()), view_mut(&mut to))
        {
            self.enqueue("copy", || words, |stream| stream.memcpy_dtod(&from, &mut to))?;
        }
        Ok(to)
    }

    fn copy_tensor(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        // Its own elements only: many may be slices of one large buffer.
        let buffer = self.copy_part(tensor.buffer(), tensor.range())?;
        Ok(Tensor::filling(buffer, tensor.dtype(), tensor.shape()))
    }

    fn read_bytes(&self, from: &Buffer, bytes: Range<usize>) -> Result<Vec<u8>, Error> {
        self.read_part(from, bytes)
    }

    fn tensor_bytes(&self, dtype: DType, shape: &[usize]) -> Result<usize, Error> {
        let too_large = || CudaError::TooLarge { what: "a tensor", sizes: shape.to_vec() };
        Ok(shape::size(shape, dtype.bytes()).ok_or_else(too_large)?)
    }

    fn zeros_tensor(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = self.tensor_bytes(dtype, shape)?;
        Ok(Tensor::filling(self.zeros(bytes)?, dtype, shape))
    }

    fn nothing_owed(&self) -> Result<&Arc<Buffer>, Error> {
        Ok(&self.fixed()?.nothing_owed)
    }

    fn may_move(&self, buffer: &Buffer) -> Result<(), Error> {
        self.inner.pool.state.may_move("copy", buffer.memory())
    }

    fn writes(&self, buffer: &Arc<Buffer>) {
        let shared: Arc<dyn Any + Send + Sync> = buffer.clone();
        self.inner.pool.state.alone(Arc::downgrade(&shared));
    }
}
