//! Memory of other programs, adopted as tensors where it lies, and memory of tensors, lent to other programs.

pub mod dlpack;
mod error;
mod loan;
pub(crate) mod raw;

pub use error::AdoptError;
pub use loan::Loan;
pub use raw::ForeignMemory;

use crate::{CaptureError, Cuda, Error, Tensor, memory::Lender};
use binade_core::{DType, Element};
use binade_gpu::Driver;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use std::{any::Any, borrow::Borrow, sync::Arc};

/// Memory that is about to be adopted.
struct Adoption<F> {
    address: u64,
    bytes: usize,
    stream: Arc<CudaStream>,
    is_writable: bool,
    /// Makes the owner, once nothing can fail any more.
    owner: F,
}

impl Cuda {
    /// Adopts the first elements of a slice as a tensor that is read where it lies. `owner` is the slice, or has it: an `Arc` of it, or a
    /// type that implements `Borrow`. The tensor keeps it, and drops it with its own last clone.
    ///
    /// # Contract
    ///
    /// * Nothing is copied. Later work of this handle runs after the work that the slice's stream has now, and before `owner` is dropped the slice's
    ///   stream waits for this handle's work. Events do both; the host does not wait.
    /// * In between, only [`wait_for`](Self::wait_for) and [`precede`](Self::precede) order the streams: call the first after the owner has written
    ///   to the memory, and the second before the owner reads what a step has written.
    /// * A write to the memory is [`AdoptError::ReadOnly`].
    /// * A captured step may read memory that was adopted before its capture and outlives the step. Memory that is dropped ends the replays, as the
    ///   step's own does ([`CaptureError::Stale`]).
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where the slice has fewer elements than `shape`; [`AdoptError`] for another device or context; if the device
    /// fails, and in the captured run of a [`capture`](Self::capture).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use binade_cuda::{Cuda, cudarc::driver::CudaContext};
    /// let cuda = Cuda::open(0)?;
    /// let theirs = CudaContext::new(0)?.new_stream()?; // another program's context and stream
    /// let gradient = theirs.clone_htod(&[0.5_f32; 6])?;
    /// let gradient = cuda.adopt(gradient, &[2, 3])?; // the same memory, as a tensor
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adopt<T: Element>(
        &self,
        owner: impl Borrow<CudaSlice<T>> + Send + Sync + 'static,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        self.adopt_slice("adopt", owner, shape, false)
    }

    /// Adopts the first elements of a slice as [`adopt`](Self::adopt) does, as a tensor that is also written to where it lies: a parameter.
    ///
    /// # Contract
    ///
    /// A parameter stays in the memory that it was adopted with. A step that would move it, since a clone of the tensor is alive or
    /// the configuration stores another type, is [`AdoptError::Moved`]. Loading a checkpoint writes into the memory.
    ///
    /// # Errors
    ///
    /// As [`adopt`](Self::adopt).
    pub fn adopt_mut<T: Element>(
        &self,
        owner: impl Borrow<CudaSlice<T>> + Send + Sync + 'static,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        self.adopt_slice("adopt_mut", owner, shape, true)
    }

    fn adopt_slice<T: Element, O: Borrow<CudaSlice<T>> + Send + Sync + 'static>(
        &self,
        operation: &'static str,
        owner: O,
        shape: &[usize],
        is_writable: bool,
    ) -> Result<Tensor, Error> {
        let owner = Box::new(owner);
        // The box keeps the owner, and so the slice, at one address.
        let slice: &CudaSlice<T> = (*owner).borrow();
        self.check_context(operation, slice.context())?;
        let stream = slice.stream().clone();
        // cudarc's events, where the slice's context has them, also put this stream behind other streams that wrote to the slice.
        let wait = |ours: &Arc<CudaStream>| Ok(slice.device_ptr(ours).0);
        let address = self.outside(operation, CaptureError::OtherStream, wait)?;
        let bytes = slice.num_bytes();
        let adoption = Adoption { address, bytes, stream, is_writable, owner: || owner };
        self.adopt_memory(operation, adoption, T::DTYPE, shape)
    }

    fn adopt_memory<O: Any + Send + Sync>(
        &self,
        operation: &'static str,
        Adoption { address, bytes, stream, is_writable, owner }: Adoption<impl FnOnce() -> Box<O>>,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        self.inner.pool.state.refuse(operation, CaptureError::OtherStream)?;
        let (needed, found) = (self.tensor_bytes(dtype, shape)?, bytes / dtype.bytes());
        if bytes < needed {
            let expected = needed / dtype.bytes();
            return Err(Error::Length { what: "elements", found, shape: shape.to_vec(), expected });
        }
        check_aligned(operation, address, dtype.bytes())?;
        self.check_context(operation, stream.context())?;
        self.wait_for(&stream)?;
        let (ours, gate) = (self.stream().clone(), self.inner.pool.state.gate.clone());
        let lender = Lender { ours, theirs: stream, gate, is_writable, owner: owner() };
        let buffer = self.adopted_buffer(address, bytes, lender);
        self.inner.counters.adopted.add(1);
        Ok(Tensor::filling(buffer, dtype, shape))
    }

    /// Orders this handle's later work after the work that `stream` has now, by an event. Call it after another program has written to memory that
    /// this handle has adopted. For this handle's own stream, the call does nothing.
    ///
    /// # Errors
    ///
    /// If the device fails, and in the captured run of a [`capture`](Self::capture).
    pub fn wait_for(&self, stream: &CudaStream) -> Result<(), Error> {
        self.with_other(stream, |ours| ours.join(stream))
    }

    /// Orders the later work of `stream` after this handle's work so far, by an event. Call it before another program reads or writes memory that
    /// this handle has adopted and keeps. For this handle's own stream, the call does nothing.
    ///
    /// # Errors
    ///
    /// If the device fails, and in the captured run of a [`capture`](Self::capture).
    pub fn precede(&self, stream: &CudaStream) -> Result<(), Error> {
        self.with_other(stream, |ours| stream.join(ours))
    }

    fn with_other(
        &self,
        other: &CudaStream,
        join: impl FnOnce(&Arc<CudaStream>) -> Result<(), cudarc::driver::DriverError>,
    ) -> Result<(), Error> {
        if **self.stream() == *other {
            return Ok(());
        }
        self.outside("order another stream", CaptureError::OtherStream, join)
    }

    /// Refuses another handle's tensor, a stream of another context and a captured run, and makes the stream wait for this handle's work.
    fn lends_to(
        &self,
        operation: &'static str,
        tensor: &Tensor,
        to: &CudaStream,
    ) -> Result<(), Error> {
        self.check_owner(tensor.buffer())?;
        self.check_context(operation, to.context())?;
        self.inner.pool.state.refuse(operation, CaptureError::OtherStream)?;
        self.precede(to)
    }

    /// Refuses memory or a stream of another context, whose addresses this handle's kernels cannot use.
    fn check_context(&self, operation: &'static str, theirs: &CudaContext) -> Result<(), Error> {
        let place = |context: &CudaContext| (context.ordinal(), context.cu_ctx() as usize);
        check_place(place(theirs), place(self.stream().context())).map_err(|it| it.of(operation))
    }
}

/// Refuses memory of another device or context, each by its number and address.
fn check_place(theirs: (usize, usize), ours: (usize, usize)) -> Result<(), AdoptError> {
    let ((found, context), (device, needed)) = (theirs, ours);
    if found != device {
        return Err(AdoptError::Device { found, device });
    }
    if context == needed { Ok(()) } else { Err(AdoptError::Context { device }) }
}

/// Refuses an address that is not a multiple of `needed` bytes.
pub(crate) fn check_aligned(
    operation: &'static str,
    address: u64,
    needed: usize,
) -> Result<(), Error> {
    if address.is_multiple_of(needed as u64) {
        return Ok(());
    }
    Err(AdoptError::Misaligned { address, needed }.of(operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interpreter has one context for each device, so only this test has a second one.
    #[test]
    fn memory_of_another_context_is_refused_as_that_of_another_device_is() {
        let place = (0, 0x1000);
        assert_eq!(check_place(place, place), Ok(()));
        assert_eq!(check_place((0, 0x2000), place), Err(AdoptError::Context { device: 0 }));
        let elsewhere = check_place((1, 0x1000), place);
        assert_eq!(elsewhere, Err(AdoptError::Device { found: 1, device: 0 }));
    }
}
