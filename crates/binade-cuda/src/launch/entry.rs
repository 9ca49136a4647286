//! Loading of kernels.

use crate::{
    kernels::{self, Declaration},
    ops,
};
use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, DriverError,
        sys::{CUfunction_attribute, CUresult},
    },
    nvrtc::Ptx,
};
use std::sync::Arc;

/// Entry of a loaded module.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) kernel: &'static str,
    pub(super) declared: &'static Declaration,
    module: Arc<CudaModule>,
    pub(crate) function: CudaFunction,
    /// Bytes of dynamic shared memory that each block asks for.
    pub(crate) shared: u32,
}

/// Bytes of shared memory that a block has without opting in (CUDA C++ Programming Guide, "Technical Specifications").
const USUAL_SHARED: u32 = 48 << 10;

const MOST_SHARED: CUfunction_attribute =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

impl Entry {
    /// Loads the kernel's module into `context`.
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        kernel: &'static str,
    ) -> Result<Self, DriverError> {
        Self::of(context.load_module(Ptx::from_src(kernels::ptx(kernel)))?, kernel)
    }

    /// Returns another entry of the same module, if the kernel is one, without compiling the module again.
    pub(crate) fn sibling(&self, kernel: &'static str) -> Option<Result<Self, DriverError>> {
        let declared = kernels::declaration(kernel);
        let is_here = declared.is_some_and(|it| it.module == self.declared.module);
        is_here.then(|| Self::of(self.module.clone(), kernel))
    }

    fn of(module: Arc<CudaModule>, kernel: &'static str) -> Result<Self, DriverError> {
        let missing = DriverError(CUresult::CUDA_ERROR_NOT_FOUND);
        let declared = kernels::declaration(kernel).ok_or(missing)?;
        let (function, shared) = (module.load_function(kernel)?, ops::shared(kernel));
        // A block opts in to more than every block has.
        if let (Ok(bytes), true) = (i32::try_from(shared), shared > USUAL_SHARED) {
            function.set_attribute(MOST_SHARED, bytes)?;
        }
        Ok(Self { kernel, declared, module, function, shared })
    }

    /// Returns the number of blocks of so many threads that a multiprocessor holds at once.
    pub(crate) fn blocks(&self, threads: u32) -> Result<u32, DriverError> {
        let shared = usize::try_from(self.shared).unwrap_or(usize::MAX);
        self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None)
    }
}
