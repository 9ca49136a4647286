//! Loaded kernels, and their launch.
#![expect(unsafe_code, reason = "a launch")]

use super::{Arg, Grid};
use crate::{
    kernels::{Declaration, Kernel},
    ops,
};
use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result,
        sys::{CUfunction_attribute, CUresult},
    },
    nvrtc::Ptx,
};
use std::{ffi::c_void, sync::Arc};

/// Entry of a loaded module. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    kernel: Kernel,
    declared: &'static Declaration,
    module: Arc<CudaModule>,
    function: CudaFunction,
    /// Bytes of dynamic shared memory that each block asks for.
    shared: u32,
}

/// Bytes of shared memory that a block has without opting in (CUDA C++ Programming Guide, "Technical Specifications").
const USUAL_SHARED: u32 = 48 << 10;

const MOST_SHARED: CUfunction_attribute =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

/// Argument as the driver reads it through a pointer: 8 bytes that hold the value, or the address of a structure.
type Word = [u8; 8];

impl Entry {
    /// Loads the kernel's module into `context`.
    pub(crate) fn load(context: &Arc<CudaContext>, kernel: Kernel) -> Result<Self, DriverError> {
        Self::of(context.load_module(Ptx::from_src(kernel.ptx()))?, kernel)
    }

    /// Returns another entry of the same module, if the kernel is one, without compiling the module again.
    pub(crate) fn sibling(&self, kernel: Kernel) -> Option<Result<Self, DriverError>> {
        let is_here = kernel.declared().is_some_and(|it| it.module == self.declared.module);
        is_here.then(|| Self::of(self.module.clone(), kernel))
    }

    fn of(module: Arc<CudaModule>, kernel: Kernel) -> Result<Self, DriverError> {
        let declared = kernel.declared().ok_or(DriverError(CUresult::CUDA_ERROR_NOT_FOUND))?;
        let (function, shared) = (module.load_function(kernel.name)?, ops::shared(kernel));
        // A block opts in to more than every block has.
        if let (Ok(bytes), true) = (i32::try_from(shared), shared > USUAL_SHARED) {
            function.set_attribute(MOST_SHARED, bytes)?;
        }
        Ok(Self { kernel, declared, module, function, shared })
    }

    /// Returns the driver's function, for its attributes.
    pub(crate) fn function(&self) -> &CudaFunction {
        &self.function
    }

    /// Puts the kernel in the stream.
    ///
    /// # Panics
    ///
    /// If `args` do not match the kernel's parameters: a bug of this crate.
    pub(crate) fn launch(
        &self,
        stream: &CudaStream,
        grid: Grid,
        args: &[Arg<'_>],
    ) -> Result<(), DriverError> {
        let given = args.iter().map(Arg::param);
        assert!(given.eq(self.declared.params.iter().copied()), "{}: {args:?}", self.kernel.name);
        let mut words: Vec<Word> = args.iter().map(word).collect();
        let mut at: Vec<*mut c_void> = args
            .iter()
            .zip(&mut words)
            .map(|(arg, word)| match arg {
                Arg::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
                _ => word.as_mut_ptr().cast(),
            })
            .collect();
        stream.context().bind_to_thread()?;
        // SAFETY: the function was loaded into this stream's context, which is bound to this thread. `at` has a pointer
        // for each parameter (asserted above by the list that the PTX declares), each to as many bytes as it takes, alive until the driver has copied them, which is before this returns; it only reads them. Addresses
        // among them are the caller's, who borrows their buffers: see the module's page.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                self.shared,
                stream.cu_stream(),
                &mut at,
            )
        }
    }
}

impl Entry {
    /// Returns the bytes of dynamic shared memory that each block asks for.
    pub(crate) fn shared(&self) -> u32 {
        self.shared
    }

    /// Returns the number of blocks of so many threads that a multiprocessor holds at once.
    pub(crate) fn blocks(&self, threads: u32) -> Result<u32, DriverError> {
        let shared = usize::try_from(self.shared).unwrap_or(usize::MAX);
        self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None)
    }
}

/// Returns an argument's word: the value in its first bytes, or a structure's address.
fn word(arg: &Arg<'_>) -> Word {
    let mut word = [0; 8];
    match arg {
        Arg::Address(value) | Arg::U64(value) => word = value.to_ne_bytes(),
        Arg::U32(value) | Arg::Number(value) => word[..4].copy_from_slice(&value.to_ne_bytes()),
        Arg::F32(value) => word[..4].copy_from_slice(&value.to_ne_bytes()),
        Arg::Bytes(_) => {}
    }
    word
}
