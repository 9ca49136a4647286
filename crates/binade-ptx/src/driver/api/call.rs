//! The way into the driver and out again: one call at a time, no panic across, errors as codes.

use std::{
    env,
    ffi::c_int,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::driver::{
    code::{Code, Result},
    state::{Configuration, Driver, in_host_function},
};

/// The driver, once `cuInit` made it.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// A panic in one call says nothing about the tables that others use: they change only when a call succeeds.
fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one call that needs the driver.
pub(super) fn call(name: &str, work: impl FnOnce(&mut Driver) -> Result) -> c_int {
    // Checked before the lock, which the thread holds in that case.
    if in_host_function() {
        return Code::NotPermitted as c_int;
    }
    guarded(name, || work(lock().as_mut().ok_or(Code::NotInitialized)?))
}

/// Runs what must not panic into C.
pub(super) fn guarded(name: &str, work: impl FnOnce() -> Result) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code as c_int,
        Err(_) => {
            eprintln!("binade-ptx: a panic in {name}, which is a bug of the interpreter");
            Code::Unknown as c_int
        }
    }
}

/// Makes the driver as the environment says, unless it is there.
pub(super) fn initialize() -> Result {
    let value = env::var("BINADE_PTX_CC").ok();
    let capability = Configuration::capability(value.as_deref()).map_err(|message| {
        eprintln!("binade-ptx: {message}");
        Code::InvalidValue
    })?;
    let mut driver = lock();
    if driver.is_none() {
        *driver = Some(Driver::new(capability));
        if env::var_os("BINADE_PTX_COVERAGE").is_some() {
            write_coverage_at_exit();
        }
    }
    Ok(())
}

/// What the last faulty kernel did.
pub(super) fn last_report() -> String {
    lock().as_ref().map_or_else(String::new, |driver| driver.last_report().to_owned())
}

fn write_coverage_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: `atexit` is the C library's, of this type; the function it is given is never unloaded, since nobody closes a CUDA
    // driver, and does not unwind.
    unsafe { atexit(write_coverage) };
}

extern "C" fn write_coverage() {
    guarded("the writing of coverage", || {
        let Some(folder) = env::var_os("BINADE_PTX_COVERAGE") else { return Ok(()) };
        // Another thread may be in a call for good; the process ends all the same.
        let Ok(driver) = DRIVER.try_lock() else { return Ok(()) };
        let Some(driver) = driver.as_ref() else { return Ok(()) };
        let file = Path::new(&folder).join(format!("{}.txt", process::id()));
        let written =
            fs::create_dir_all(&folder).and_then(|()| fs::write(&file, driver.coverage()));
        if let Err(error) = written {
            eprintln!("binade-ptx: {}: {error}", file.display());
        }
        Ok(())
    });
}

/// Defines exported functions and lists them for `cuGetProcAddress`. Each body comes to `Result<()>`; a function that takes `_`
/// for the driver works before `cuInit` too.
macro_rules! api {
    ($($(#[$page:meta])* fn $name:ident($driver:tt $(, $argument:ident: $kind:ty)* $(,)?) $body:block)*) => {
        $(
            $(#[$page])*
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
                $crate::driver::api::call::api!(@call $name $driver $body)
            }
        )*
        pub(super) const SYMBOLS: &[(&str, *const ())] =
            &[$((stringify!($name), $name as *const ())),*];
    };
    (@call $name:ident _ $body:block) => {
        $crate::driver::api::call::guarded(stringify!($name), || $body)
    };
    (@call $name:ident $driver:ident $body:block) => {
        $crate::driver::api::call::call(stringify!($name), |$driver| $body)
    };
}
pub(super) use api;
