//! Opening of cuDNN, at the first convolution. Its absence is no error.

use super::{
    api::{self, Handle, Plan},
    problem::Problem,
};
use crate::{Cuda, Error, library::backends::ConvolutionsBackend};
use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError, atomic::Ordering},
};

/// State of the library for a device's handles.
#[derive(Debug, Default)]
pub(in crate::library) struct Dnn {
    opened: OnceLock<Result<Open, String>>,
}

/// Opened library.
pub(super) struct Open {
    version: usize,
    shared: Mutex<Shared>,
}

/// State that one thread uses at a time.
pub(super) struct Shared {
    /// Plans by problem. They stand before the handle, so that they are dropped first.
    pub(super) plans: HashMap<Problem, Option<Plan>>,
    pub(super) handle: Handle,
}

/// Versions with the status numbers used here: cuDNN 9. Those of cuDNN 8 have other numbers.
const KNOWN: std::ops::Range<usize> = 90_000..100_000;

impl Cuda {
    pub(in crate::library) fn who_convolves(&self) -> Result<ConvolutionsBackend, Error> {
        let open = self.dnn()?;
        let missing = || match self.inner.library.dnn.opened.get() {
            _ if self.inner.library.own.load(Ordering::Relaxed) => "asked for".into(),
            Some(Err(why)) => why.clone(),
            _ => "cuDNN has not been looked for before the captured run".into(),
        };
        Ok(match open {
            Some(open) => {
                ConvolutionsBackend::Library { version: open.version, f32: self.f32_products() }
            }
            None => ConvolutionsBackend::Own { why: missing() },
        })
    }

    /// Returns the library, if it is there and wanted. A captured run does not open it: its warm-ups have, or did not convolve.
    pub(super) fn dnn(&self) -> Result<Option<&Open>, Error> {
        let library = &self.inner.library;
        if library.own.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if library.dnn.opened.get().is_none() {
            if self.inner.pool.state.running() == Some(true) {
                return Ok(None);
            }
            let opened = self.open_dnn()?;
            library.dnn.opened.get_or_init(|| opened);
        }
        Ok(library.dnn.opened.get().and_then(|opened| opened.as_ref().ok()))
    }

    fn open_dnn(&self) -> Result<Result<Open, String>, Error> {
        let names = names();
        if !names.iter().any(|name| api::loads(name)) {
            return Ok(Err(format!("no cuDNN; looked for {}", names.join(", "))));
        }
        // cudarc may find less than was found here, and then it panics.
        let Ok(version) = catch_unwind(api::version) else {
            return Ok(Err("cuDNN is under a name that cudarc does not load".into()));
        };
        if !KNOWN.contains(&version) {
            return Ok(Err(format!(
                "cuDNN says that its version is {version}; 9.0 to 9.99 will do"
            )));
        }
        let (context, stream) = (self.inner.stream.context(), &self.inner.stream);
        self.check("bind", context.bind_to_thread())?;
        let made = catch_unwind(AssertUnwindSafe(|| Handle::create(context, stream)));
        let Ok(made) = made else {
            return Ok(Err("cuDNN is of a version that cudarc does not load".into()));
        };
        Ok(match made {
            Ok(handle) => {
                Ok(Open { version, shared: Mutex::new(Shared { handle, plans: HashMap::new() }) })
            }
            Err(error) => Err(format!("cuDNN does not start: {}", api::cause(error))),
        })
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

/// Returns the names that cudarc asks the loader for, and that cuDNN 9 can have.
fn names() -> [&'static str; 2] {
    if cfg!(windows) { ["cudnn.dll", "cudnn64_9.dll"] } else { ["libcudnn.so", "libcudnn.so.9"] }
}
