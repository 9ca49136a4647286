//! Uploads in a separate stream: the next batch is copied while the current step computes.

use crate::{CaptureError, Cuda, Error, Tensor, launch::code};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_gpu::check_length;
use cudarc::driver::{CudaEvent, CudaStream};
use std::fmt;
use std::sync::Arc;

/// Tensor on its way to the device: see [`Cuda::prefetch`].
#[must_use = "it is `tensor` that the elements are used by"]
pub struct Prefetched {
    cuda: Cuda,
    /// Tensor that is written to; `None` once it is taken.
    tensor: Option<Tensor>,
    /// Type that the elements are rounded to when they are there.
    dtype: DType,
    /// Event recorded after the copies.
    done: CudaEvent,
}

impl Cuda {
    /// Starts to upload values as a tensor of `dtype`. The upload runs concurrently with work enqueued after this call. The upload begins when the
    /// work put in the stream so far is done, since it may use the same memory. The host does not wait, but as for any [upload](Self#contract).
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if their number differs from `shape`'s, [`Error::Unsupported`] for integers. Also if the device is out of memory, and in the
    /// captured run of a [`capture`](Self::capture).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use binade_core::DType;
    /// # use binade_cuda::{Cuda, Error, Tensor};
    /// # fn step(_: &Tensor) -> Result<(), Error> { Ok(()) }
    /// # fn train(batches: &[Vec<f32>]) -> Result<(), Error> {
    /// let cuda = Cuda::open(0)?;
    /// let upload = |batch: &Vec<f32>| cuda.prefetch(batch, &[64, 32], DType::F16);
    /// let mut next = batches.first().map(upload).transpose()?;
    /// for after in batches.iter().skip(1).map(Some).chain([None]) {
    ///     let Some(batch) = next.take() else { break };
    ///     next = after.map(upload).transpose()?; // on its way while this step computes
    ///     step(&batch.tensor()?)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn prefetch(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Prefetched, Error> {
        check_length::<Self>("elements", values.len(), shape, 1)?;
        code("upload as", dtype)?;
        let mut prefetched = self.prefetch_bits(bytemuck::cast_slice(values), DType::F32, shape)?;
        prefetched.dtype = dtype;
        Ok(prefetched)
    }

    /// Starts to upload the little-endian bytes of elements of any type, as [`prefetch`](Self::prefetch) does: indices and labels
    /// among them.
    ///
    /// # Errors
    ///
    /// The errors of [`from_bits`](Self::from_bits), and that of a captured run.
    pub fn prefetch_bits(
        &self,
        bytes: &[u8],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Prefetched, Error> {
        check_length::<Self>("bytes", bytes.len(), shape, dtype.bytes())?;
        let why = || CaptureError::Upload { bytes: bytes.len() };
        self.inner.pool.state.refuse("prefetch", why())?;
        let buffer = self.lasting(bytes.len())?;
        let copies = self.copies()?;
        // Work in the stream may still use memory that came from the pool.
        self.outside("prefetch", why(), |stream| copies.wait(&stream.record_event(None)?))?;
        self.put_by(copies, bytes, &buffer, 0)?;
        let done = self.check("event", copies.record_event(None))?;
        let tensor = Some(Tensor::filling(buffer, dtype, shape));
        Ok(Prefetched { cuda: self.clone(), tensor, dtype, done })
    }

    /// Returns the stream of uploads, created at the first call.
    fn copies(&self) -> Result<&Arc<CudaStream>, Error> {
        let copies = &self.inner.copies;
        if let Some(stream) = copies.get() {
            return Ok(stream);
        }
        let stream = self.check("stream", self.inner.stream.context().new_stream())?;
        Ok(copies.get_or_init(|| stream))
    }
}

impl Prefetched {
    /// Returns the tensor. Work enqueued later runs after the upload; the host does not wait.
    ///
    /// # Errors
    ///
    /// If the device fails, and in the captured run of a [`capture`](Cuda::capture).
    pub fn tensor(mut self) -> Result<Tensor, Error> {
        self.wait()?;
        let Some(tensor) = self.tensor.take() else { unreachable!("it is taken here alone") };
        if self.dtype == tensor.dtype() { Ok(tensor) } else { self.cuda.cast(&tensor, self.dtype) }
    }

    /// Orders later work after the upload.
    fn wait(&self) -> Result<(), Error> {
        let bytes = self.tensor.as_ref().map_or(0, Tensor::bytes);
        let why = CaptureError::Upload { bytes };
        self.cuda.outside("prefetch", why, |stream| stream.wait(&self.done))
    }
}

impl Drop for Prefetched {
    /// Orders the next use of the memory after the upload. If that fails, the memory is never used again.
    fn drop(&mut self) {
        if self.tensor.is_some() && self.wait().is_err() {
            std::mem::forget(self.tensor.take());
        }
    }
}

impl fmt::Debug for Prefetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetched").field("tensor", &self.tensor).finish_non_exhaustive()
    }
}
