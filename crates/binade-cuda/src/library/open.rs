//! Opening of cuBLASLt, at the first product. Its absence is no error.

use super::{
    backends::{F32Products, Products, ProductsBackend},
    lt::{self, Handle, Plan},
    problem::{self, Problem},
};
use crate::{Cuda, CudaError, Error, memory::Buffer};
use binade_core::DType;
use cudarc::driver::sys::CUDA_VERSION;
use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// State of the library for a device's handles.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// True if products are computed by Binade's own kernels.
    pub(super) own: AtomicBool,
    /// True if it may multiply `f32` by TF32.
    pub(super) tf32: AtomicBool,
    opened: OnceLock<Result<Open, String>>,
    #[cfg(feature = "cudnn")]
    pub(super) dnn: super::dnn::Dnn,
}

/// Opened library.
pub(super) struct Open {
    version: usize,
    /// Workspace of one product at a time, as the stream orders them. It belongs to no run of a capture.
    pub(super) workspace: Buffer,
    shared: Mutex<Shared>,
}

/// State that one thread uses at a time.
pub(super) struct Shared {
    /// Plans by problem. They stand before the handle, so that they are dropped first.
    pub(super) plans: HashMap<Problem, Option<Plan>>,
    pub(super) handle: Handle,
}

impl Cuda {
    /// Chooses the code that computes matrix products and convolutions from here on, for this handle and its clones. The default
    /// is cuBLASLt, and cuDNN with the feature `cudnn`, if they are installed.
    ///
    /// A captured step keeps the choice that it was captured with. A change between the warm-ups of a capture and the captured
    /// run is an error of that run.
    #[must_use]
    pub fn with_products(self, products: Products) -> Self {
        self.inner.library.own.store(products == Products::Own, Ordering::Relaxed);
        self
    }

    /// Chooses how the libraries multiply `f32` by `f32` from here on, in products and convolutions, for this handle and its
    /// clones. The default is in full. Products of sixteen bits do not change, and neither do those of Binade's own kernels.
    /// [`products`](Self::products) tells the choice, and [`DeviceCounters::tf32`](crate::DeviceCounters::tf32) counts.
    ///
    /// A captured step keeps the choice that it was captured with. A change between the warm-ups of a capture and the captured
    /// run is an error of that run.
    ///
    /// # Errors
    ///
    /// [`CudaError::TooOldFor`] for TF32 before compute capability 8.0, whose Tensor Cores have none; nothing is changed then.
    pub fn with_f32_products(self, products: F32Products) -> Result<Self, Error> {
        let is_tf32 = products == F32Products::Tf32;
        let (major, minor) = self.inner.capability;
        if is_tf32 && major < 8 {
            return Err(Error::Driver(CudaError::TooOldFor {
                what: "products of f32 by TF32",
                found: format!("{major}.{minor}"),
                needed: "8.0",
                instead: "f32 in full",
            }));
        }
        self.inner.library.tf32.store(is_tf32, Ordering::Relaxed);
        Ok(self)
    }

    /// Returns how the libraries may multiply `f32`.
    pub(super) fn f32_products(&self) -> F32Products {
        let is_tf32 = self.inner.library.tf32.load(Ordering::Relaxed);
        if is_tf32 { F32Products::Tf32 } else { F32Products::Full }
    }

    /// Returns true if a product may drop bits of operands of this type.
    pub(crate) fn drops_bits(&self, dtype: DType) -> Result<bool, Error> {
        let is_tf32 = dtype == DType::F32 && self.f32_products() == F32Products::Tf32;
        Ok(is_tf32 && self.has_library()?)
    }

    /// Returns true if products go to the library first.
    pub(crate) fn has_library(&self) -> Result<bool, Error> {
        Ok(self.library()?.is_some())
    }

    /// Returns the code that computes matrix products, with its version, to be written beside results. Looks for the library if
    /// no call has yet.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn products(&self) -> Result<ProductsBackend, Error> {
        let open = self.library()?;
        let missing = || match self.inner.library.opened.get() {
            Some(Err(why)) => why.clone(),
            _ if self.inner.library.own.load(Ordering::Relaxed) => "asked for".into(),
            _ => "the library has not been looked for before the captured run".into(),
        };
        let f32 = self.f32_products();
        Ok(match open {
            Some(open) => ProductsBackend::Library { version: open.version, f32 },
            None if f32 == F32Products::Full => ProductsBackend::Own { why: missing() },
            None => {
                ProductsBackend::Own { why: format!("{}; they multiply f32 in full", missing()) }
            }
        })
    }

    /// Returns the library, if it is there and wanted. A captured run does not open it: its warm-ups have, or did not multiply.
    pub(super) fn library(&self) -> Result<Option<&Open>, Error> {
        let library = &self.inner.library;
        if library.own.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if library.opened.get().is_none() {
            if self.inner.pool.state.running() == Some(true) {
                return Ok(None);
            }
            let opened = self.open_library()?;
            library.opened.get_or_init(|| opened);
        }
        Ok(library.opened.get().and_then(|opened| opened.as_ref().ok()))
    }

    fn open_library(&self) -> Result<Result<Open, String>, Error> {
        let names = names();
        if !names.iter().any(|name| lt::loads(name)) {
            return Ok(Err(format!("no cuBLASLt; looked for {}", names.join(", "))));
        }
        let context = self.inner.stream.context();
        self.check("bind", context.bind_to_thread())?;
        // cudarc may find less than was found here, and then it panics.
        let made = catch_unwind(AssertUnwindSafe(|| (lt::version(), Handle::create(context))));
        let (version, handle) = match made {
            Ok((version, Ok(handle))) => (version, handle),
            Ok((_, Err(error))) => {
                return Ok(Err(format!("cuBLASLt does not start: {}", lt::cause(error))));
            }
            Err(_) => return Ok(Err("cuBLASLt is of a version that cudarc does not load".into())),
        };
        if version < OLDEST {
            return Ok(Err(format!("cuBLASLt is of version {version}, before {OLDEST}")));
        }
        let workspace = unless_full(self.lasting(problem::workspace(self.inner.capability)))?;
        let shared = Mutex::new(Shared { handle, plans: HashMap::new() });
        Ok(workspace.map(|workspace| Open { version, workspace, shared }))
    }
}

impl Open {
    /// Locks the state. It is whole even after a panic, since no change of it can stop halfway.
    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("version", &self.version).finish_non_exhaustive()
    }
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

/// Oldest supported version: 12. Of 11, some releases tell their version in thousands and others in ten thousands.
const OLDEST: usize = 120_000;

/// Returns the names that cudarc asks the loader for, the newest first, without those of older versions.
fn names() -> Vec<String> {
    let major = CUDA_VERSION / 1000;
    let mut majors = vec![major];
    majors.extend([12].into_iter().filter(|older| *older != major));
    let named = |major: u32| {
        if cfg!(windows) {
            format!("cublasLt64_{major}.dll")
        } else {
            format!("libcublasLt.so.{major}")
        }
    };
    let plain = if cfg!(windows) { "cublasLt.dll" } else { "libcublasLt.so" };
    [plain.to_owned()].into_iter().chain(majors.into_iter().map(named)).collect()
}
