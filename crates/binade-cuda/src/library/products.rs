//! Products by cuBLASLt: an algorithm found once a problem, the call recorded, and put in the stream.

use super::{
    Opened,
    lt::{Addresses, Handle, Plan, Status, api},
    problem::{self, Problem},
};
use crate::{
    Cuda, CudaError, Error, Tensor,
    ops::gemm::{Gemm, Matrices},
};
use std::sync::atomic::Ordering;

/// Name of a product for the recorder and in device errors.
const NAME: &str = "cublasLtMatmul";

/// Opened cuBLASLt.
pub(super) type CublasLt = Opened<Handle, Problem, Plan>;

pub(super) fn open(cuda: &Cuda) -> Result<Result<CublasLt, String>, Error> {
    let opened = match api() {
        Ok(api) => {
            let workspace = unless_full(cuda.lasting(problem::workspace(cuda.inner.capability)))?;
            workspace.and_then(|workspace| {
                let started = Handle::create(api, workspace);
                let handle = started
                    .map_err(|status| format!("cuBLASLt does not start: {}", status.cause()))?;
                Ok(Opened::new(cuda, api.version, handle))
            })
        }
        Err(why) => Err(why.to_owned()),
    };
    cuda.inner.library.is_missing.store(opened.is_err(), Ordering::Relaxed);
    Ok(opened)
}

/// Turns a failed allocation of the workspace into a reason to use kernels, which need no workspace.
pub(super) fn unless_full<T>(workspace: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match workspace {
        Err(error @ Error::Driver(CudaError::OutOfMemory { .. })) => {
            Ok(Err(format!("no workspace: {error}")))
        }
        other => other.map(Ok),
    }
}

impl Cuda {
    pub(super) fn multiply_by(&self, open: &CublasLt, gemm: &Gemm<'_>) -> Result<bool, Error> {
        let (f32, algorithms) = (self.f32_products(), self.algorithms());
        let Some(problem) = Problem::of(gemm, f32, algorithms) else { return Ok(false) };
        let mut state = open.lock();
        let first = Addresses::of(gemm, 0);
        let noted = |handle: &Handle| words(&problem, first, handle);
        let found = state.find(self, &problem, (NAME, noted), |handle| {
            match handle.plan(&problem, first.bias) {
                Ok(plan) => Ok(Some(self.fastest(handle, plan, first)?)),
                // This version considers the configuration invalid.
                Err(Status::INVALID_VALUE) => Ok(None),
                Err(status) if has_none(status) => Ok(None),
                Err(status) => Err(refused("choose an algorithm", status)),
            }
        })?;
        let Some((handle, plan)) = found else { return Ok(false) };
        let multiplied = self.with_stream(NAME, |stream| {
            self.bind()?;
            (0..gemm.batch).step_by(problem.batch).try_for_each(|pair| {
                let at = Addresses::of(gemm, pair);
                self.inner.pool.state.note(NAME, || words(&problem, at, handle))?;
                self.launched(NAME);
                let multiplied = handle.multiply(stream, plan, at);
                self.inner.counters.library.add(1);
                self.multiplied(problem.f32);
                multiplied.map_err(RefusalSource::Library)
            })
        })?;
        match multiplied {
            Ok(()) => Ok(true),
            // The library enqueued nothing, and will refuse the next time too.
            Err(RefusalSource::Library(status)) if has_none(status) => {
                state.refuse(problem);
                Ok(false)
            }
            Err(RefusalSource::Library(status)) => Err(refused("multiply", status)),
            Err(RefusalSource::Here(error)) => Err(error),
        }
    }
}

impl Addresses {
    /// Returns the addresses from this pair of a batch on.
    fn of(gemm: &Gemm<'_>, pair: usize) -> Self {
        let from = |Matrices { tensor, step, .. }: Matrices<'_>| {
            tensor.address() + (pair * step * tensor.dtype().bytes()) as u64
        };
        let bias = gemm.bias.map_or(0, Tensor::address);
        Self { first: from(gemm.b), second: from(gemm.a), bias, into: from(gemm.c) }
    }
}

/// Returns all values that the host gives the library, as words.
fn words(problem: &Problem, at: Addresses, handle: &Handle) -> Vec<u64> {
    let Addresses { first, second, bias, into } = at;
    [&[first, second, bias, into, handle.workspace()][..], &problem.words()].concat()
}

/// Source of a refused product.
enum RefusalSource {
    Library(Status),
    /// Refusal by the recorder, or by the driver.
    Here(Error),
}

impl From<Error> for RefusalSource {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// Returns true if the library reports that it does not support such a product, or not on this device. Kernels compute it then.
pub(super) fn has_none(status: Status) -> bool {
    [Status::NOT_SUPPORTED, Status::ARCH_MISMATCH].contains(&status)
}

pub(super) fn refused(call: &'static str, status: Status) -> Error {
    Error::Driver(CudaError::Library { name: "cuBLASLt", call, cause: status.cause() })
}
