//! Search for the driver, before anything could panic for want of one.
//!
//! cudarc looks symbols up at their first use and panics if the library is missing; its function to check first disappears once another crate of the
//! program links the driver. So this module asks the system's loader.

use crate::{CudaError, Error, launch};
use cudarc::driver::{CudaContext, DriverError};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

/// A GPU's compute capability: before the point, and after it.
pub(crate) type Capability = (i32, i32);

/// File names to try.
pub(crate) const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// The context of device `ordinal`.
pub(crate) fn open(ordinal: usize) -> Result<Arc<CudaContext>, Error> {
    if !has_driver() {
        return Err(Error::Driver(CudaError::NoDriver { looked_for: LIBRARIES.join(", ") }));
    }
    // A driver without a function that cudarc looks up makes it panic; that is an error here, and told as one.
    catch_unwind(AssertUnwindSafe(|| context(ordinal))).unwrap_or_else(|panic| {
        let cause = panic.downcast_ref::<String>().cloned();
        Err(Error::Driver(CudaError::DriverFailed {
            cause: cause.unwrap_or_else(|| "it lacks a function".into()),
        }))
    })
}

fn context(ordinal: usize) -> Result<Arc<CudaContext>, Error> {
    let failed =
        |error: DriverError| Error::Driver(CudaError::DriverFailed { cause: cause(error) });
    let count = match CudaContext::device_count() {
        Ok(count) => usize::try_from(count).unwrap_or_default(),
        Err(error) if error.0 == NO_DEVICE => 0,
        Err(error) => return Err(failed(error)),
    };
    if ordinal >= count {
        return Err(Error::Driver(CudaError::NoDevice { ordinal, count }));
    }
    CudaContext::new(ordinal).map_err(failed)
}

const NO_DEVICE: cudarc::driver::sys::CUresult =
    cudarc::driver::sys::CUresult::CUDA_ERROR_NO_DEVICE;

/// Returns a device's compute capability, or an error if the device is too old for the kernels.
pub(crate) fn capable(context: &CudaContext) -> Result<Capability, Error> {
    let failed =
        |error: DriverError| Error::Driver(CudaError::DriverFailed { cause: cause(error) });
    let capability @ (major, minor) = context.compute_capability().map_err(failed)?;
    if capability >= (7, 5) {
        return Ok(capability);
    }
    let (name, found) = (context.name().map_err(failed)?, format!("{major}.{minor}"));
    Err(Error::Driver(CudaError::TooOld { name, found, needed: "7.5" }))
}

/// Returns true if the loader finds a library. The search runs once.
fn has_driver() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| LIBRARIES.iter().any(|name| launch::loads(name)))
}

/// A driver error in the driver's own words. Uses the code: `Debug` and `Display` call a function that the driver may not have.
pub(crate) fn cause(error: DriverError) -> String {
    format!("{:?} ({})", error.0, error.0 as u32)
}
