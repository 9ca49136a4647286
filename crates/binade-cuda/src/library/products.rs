//! Products by cuBLASLt: an algorithm found once a problem, the call recorded, and put in the stream.

use super::{
    Opened,
    lt::{self, Addresses, Handle, Plan},
    problem::{self, Problem},
};
use crate::{
    Cuda, CudaError, Error, Tensor,
    ops::gemm::{Gemm, Matrices},
};
use cudarc::{
    cublaslt::{result::CublasError, sys::cublasStatus_t as Status},
    driver::sys::CUDA_VERSION,
};
use std::sync::atomic::Ordering;

/// Name of a product for the recorder and in device errors.
const NAME: &str = "cublasLtMatmul";

/// Opened cuBLASLt.
pub(super) type CublasLt = Opened<Handle, Problem, Plan>;

/// Supported versions, from 12 on. Of 11, some releases tell their version in thousands and others in ten thousands.
const KNOWN: std::ops::Range<usize> = 120_000..usize::MAX;

pub(super) fn open(cuda: &Cuda) -> Result<Result<CublasLt, String>, Error> {
    let create = || {
        let workspace = unless_full(cuda.lasting(problem::workspace(cuda.inner.capability)))?;
        Ok(workspace.and_then(|workspace| Handle::create(workspace).map_err(lt::cause)))
    };
    let opened = Opened::new(cuda, ("cuBLASLt", &names()), (lt::version, KNOWN), create)?;
    cuda.inner.library.is_missing.store(opened.is_err(), Ordering::Relaxed);
    Ok(opened)
}

/// Turns a lack of memory for the workspace into a reason to use kernels, which need none.
pub(super) fn unless_full<T>(workspace: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match workspace {
        Err(error @ Error::Driver(CudaError::OutOfMemory { .. })) => {
            Ok(Err(format!("no workspace: {error}")))
        }
        other => other.map(Ok),
    }
}

/// Returns the names that cudarc asks the loader for, without those of versions that are not supported.
fn names() -> [String; 3] {
    let (plain, versioned) = if cfg!(windows) {
        ("cublasLt.dll", ["cublasLt64_", ".dll"])
    } else {
        ("libcublasLt.so", ["libcublasLt.so.", ""])
    };
    let [first, second] = [CUDA_VERSION / 1000, 12].map(|major| versioned.join(&major.to_string()));
    [plain.to_owned(), first, second]
}

impl Cuda {
    pub(super) fn multiply_by(&self, open: &CublasLt, gemm: &Gemm<'_>) -> Result<bool, Error> {
        let Some(problem) = Problem::of(gemm, self.f32_products()) else { return Ok(false) };
        let mut state = open.lock();
        let first = Addresses::of(gemm, 0);
        let noted = |handle: &Handle| words(&problem, first, handle);
        let found = state.find(self, &problem, (NAME, noted), |handle| {
            match handle.plan(&problem, first.bias) {
                Ok(plan) => Ok(Some(plan)),
                // This version takes the configuration for an impossible one.
                Err(CublasError(Status::CUBLAS_STATUS_INVALID_VALUE)) => Ok(None),
                Err(error) if has_none(error) => Ok(None),
                Err(error) => Err(refused("choose an algorithm", error)),
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
            // No part of it is in the stream, nor will be the next time.
            Err(RefusalSource::Library(error)) if has_none(error) => {
                state.refuse(problem);
                Ok(false)
            }
            Err(RefusalSource::Library(error)) => Err(refused("multiply", error)),
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
    Library(CublasError),
    /// Refusal by the recorder, or by the driver.
    Here(Error),
}

impl From<Error> for RefusalSource {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// Returns true if the library says that it has nothing for such a product, or not on such a device. Kernels compute it then.
pub(super) fn has_none(error: CublasError) -> bool {
    matches!(error.0, Status::CUBLAS_STATUS_NOT_SUPPORTED | Status::CUBLAS_STATUS_ARCH_MISMATCH)
}

fn refused(call: &'static str, error: CublasError) -> Error {
    Error::Driver(CudaError::Library { name: "cuBLASLt", call, cause: lt::cause(error) })
}
