//! Products by the library: an algorithm found once a problem, the call recorded, and put in the stream.

use super::{
    lt::{self, Addresses},
    open::{Open, Shared},
    problem::Problem,
};
use crate::{
    Cuda, CudaError, Error, Tensor,
    ops::gemm::{Gemm, Matrices},
};
use cudarc::cublaslt::{result::CublasError, sys::cublasStatus_t as Status};
use std::{collections::hash_map::Entry, sync::PoisonError};

/// Name of a product for the recorder and in device errors.
const NAME: &str = "cublasLtMatmul";

impl Cuda {
    /// Computes the products by the library. Returns `false` if the library does not compute them. The caller has checked that
    /// the tensors hold them.
    pub(crate) fn multiplies_by_library(&self, gemm: &Gemm<'_>) -> Result<bool, Error> {
        self.check_alive()?;
        let Some(problem) = Problem::of(gemm, self.f32_products()) else { return Ok(false) };
        let Some(open) = self.library()? else { return Ok(false) };
        let mut shared = open.lock();
        self.find(open, &mut shared, &problem, Addresses::of(gemm, 0))?;
        let Shared { handle, plans } = &mut *shared;
        let Some(Some(plan)) = plans.get(&problem) else { return Ok(false) };
        let multiplied = self.with_stream(NAME, |stream| {
            self.check("bind", stream.context().bind_to_thread())?;
            (0..gemm.batch).step_by(problem.batch).try_for_each(|pair| {
                let at = Addresses::of(gemm, pair);
                let noted = || words(&problem, at, open.workspace.address());
                self.inner.pool.state.note(NAME, noted)?;
                *self.inner.last.lock().unwrap_or_else(PoisonError::into_inner) = NAME;
                let multiplied = handle.multiply(stream, plan, at, &open.workspace);
                self.inner.counters.library(problem.f32);
                multiplied.map_err(RefusalSource::Library)
            })
        })?;
        match multiplied {
            Ok(()) => Ok(true),
            // No part of it is in the stream, nor will be the next time.
            Err(RefusalSource::Library(error)) if has_none(error) => {
                plans.insert(problem, None);
                Ok(false)
            }
            Err(RefusalSource::Library(error)) => Err(refused("multiply", error)),
            Err(RefusalSource::Here(error)) => Err(error),
        }
    }

    /// Asks the library for an algorithm, once a problem. Kernels compute a problem that it has none for.
    fn find(
        &self,
        open: &Open,
        shared: &mut Shared,
        problem: &Problem,
        at: Addresses,
    ) -> Result<(), Error> {
        let Entry::Vacant(place) = shared.plans.entry(*problem) else { return Ok(()) };
        if self.inner.pool.state.running() == Some(true) {
            // No warm-up did this: the recorder says so.
            let noted = || words(problem, at, open.workspace.address());
            self.inner.pool.state.note(NAME, noted)?;
        }
        self.check("bind", self.inner.stream.context().bind_to_thread())?;
        self.inner.counters.search();
        let plan = match shared.handle.plan(problem, at.bias, open.workspace.bytes()) {
            Ok(plan) => Some(plan),
            // This version takes the configuration for an impossible one.
            Err(CublasError(Status::CUBLAS_STATUS_INVALID_VALUE)) => None,
            Err(error) if has_none(error) => None,
            Err(error) => return Err(refused("choose an algorithm", error)),
        };
        place.insert(plan);
        Ok(())
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
fn words(problem: &Problem, at: Addresses, workspace: u64) -> Vec<u64> {
    let Addresses { first, second, bias, into } = at;
    [&[first, second, bias, into, workspace][..], &problem.words()].concat()
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
    Error::Driver(CudaError::Library { call, cause: lt::cause(error) })
}
