//! Memory of a tensor, lent to another program as a slice of cudarc's.

use super::raw::borrowed;
use crate::{AdoptError, Cuda, Error, Tensor};
use binade_core::Element;
use cudarc::driver::{CudaSlice, CudaStream};
use std::{fmt, mem::ManuallyDrop, ops::Deref, sync::Arc};

/// Memory of a tensor, lent as a slice that cudarc's calls read: see [`Cuda::lend`].
pub struct Loan<T> {
    /// Slice of the tensor's elements; `Some` until it is dropped.
    slice: Option<ManuallyDrop<CudaSlice<T>>>,
    to: Arc<CudaStream>,
    cuda: Cuda,
    tensor: Option<Tensor>,
}

impl Cuda {
    /// Lends a tensor's memory to another program, which reads it in its own stream `to`, as a slice of cudarc's.
    ///
    /// # Contract
    ///
    /// Nothing is copied. Later work of `to` runs after this handle's work so far. When the loan is dropped, this handle's later work waits for the
    /// work of `to` so far. The loan holds a clone of the tensor: a step of that parameter meanwhile writes elsewhere.
    ///
    /// # Errors
    ///
    /// [`AdoptError::DType`] where the tensor has elements of another type, [`AdoptError`] where `to` is a stream of another context;
    /// [`Error::Foreign`] for another handle's tensor; in the captured run of a [`capture`](Self::capture).
    pub fn lend<T: Element>(
        &self,
        tensor: &Tensor,
        to: &Arc<CudaStream>,
    ) -> Result<Loan<T>, Error> {
        if tensor.dtype() != T::DTYPE {
            let (found, asked) = (tensor.dtype(), T::DTYPE);
            return Err(AdoptError::DType { found, asked }.of("lend"));
        }
        self.lends_to("lend", tensor, to)?;
        let slice = borrowed(self.stream(), tensor.address(), tensor.len());
        let (to, tensor) = (to.clone(), Some(tensor.clone()));
        Ok(Loan { slice: Some(slice), to, cuda: self.clone(), tensor })
    }
}

impl<T> Deref for Loan<T> {
    type Target = CudaSlice<T>;

    fn deref(&self) -> &CudaSlice<T> {
        self.slice.as_deref().unwrap_or_else(|| unreachable!("it stays until the loan is dropped"))
    }
}

impl<T> Drop for Loan<T> {
    /// Orders this handle's later work after the borrower's stream. If that fails, the tensor is leaked, so that its memory is never reused.
    fn drop(&mut self) {
        let _ = self.slice.take().map(ManuallyDrop::into_inner).map(CudaSlice::leak);
        if self.cuda.wait_for(&self.to).is_err() {
            std::mem::forget(self.tensor.take());
        }
    }
}

impl<T> fmt::Debug for Loan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan").field("tensor", &self.tensor).finish_non_exhaustive()
    }
}
