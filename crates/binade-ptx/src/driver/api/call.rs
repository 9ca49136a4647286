//! Entry into the driver: one call at a time, panics caught, errors turned into codes.

use std::{
    env,
    ffi::c_int,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::driver::{
    code::{Code, Result},
    state::{Configuration, Driver, in_host_function, tell},
};

/// Driver of the process, from `cuInit` on.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// Locks the driver: waits until no other thread is in a call.
fn lock() -> Result<MutexGuard<'static, Option<Driver>>> {
    // The driver is calling this thread's function and holds the lock. CUDA forbids calls from there, and waiting would be for
    // ever.
    if in_host_function() {
        return Err(Code::NotPermitted);
    }
    // After a panic the driver continues with the tables unchanged.
    Ok(DRIVER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one call that needs the driver.
pub(super) fn call(name: &str, work: impl FnOnce(&mut Driver) -> Result) -> c_int {
    guarded(name, || work(lock()?.as_mut().ok_or(Code::NotInitialized)?))
}

/// Runs one call of a library whose statuses are its own: `before` where the driver is not initialised, `bug` after a panic.
pub(super) fn library<S>(
    name: &str,
    codes: [c_int; 2],
    number: fn(S) -> c_int,
    work: impl FnOnce(&mut Driver) -> std::result::Result<(), S>,
) -> c_int {
    wait(name, codes, number, work, |_: &mut Driver, (): &mut (), _| Ok(true))
}

/// Notified after each call that another call may wait for.
static PROGRESS: Condvar = Condvar::new();

/// Runs a call that may wait for calls of other threads, without locking the driver meanwhile: `begin` runs at once, and `go_on`, whose argument is
/// true after the timeout, until it returns true.
pub(super) fn wait<S, W>(
    name: &str,
    [unstarted, bug]: [c_int; 2],
    number: fn(S) -> c_int,
    begin: impl FnOnce(&mut Driver) -> std::result::Result<W, S>,
    mut go_on: impl FnMut(&mut Driver, &mut W, bool) -> std::result::Result<bool, S>,
) -> c_int {
    let run = || -> Result<std::result::Result<(), S>> {
        let mut guard = lock()?;
        let driver = guard.as_mut().ok_or(Code::NotInitialized)?;
        let (patience, since) = (driver.patience, Instant::now());
        let state = begin(driver);
        PROGRESS.notify_all();
        let mut state = match state {
            Ok(state) => state,
            Err(failure) => return Ok(Err(failure)),
        };
        loop {
            let driver = guard.as_mut().ok_or(Code::NotInitialized)?;
            let left = patience.saturating_sub(since.elapsed());
            let is_done = go_on(driver, &mut state, left.is_zero());
            PROGRESS.notify_all();
            match is_done {
                Ok(true) => return Ok(Ok(())),
                Ok(false) => {}
                Err(failure) => return Ok(Err(failure)),
            }
            guard = PROGRESS.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => outcome.err().map_or(0, number),
        Ok(Err(_)) => unstarted,
        Err(_) => {
            tell_of_panic(name);
            bug
        }
    }
}

fn tell_of_panic(name: &str) {
    tell(format_args!("a panic in {name}, which is a bug of the interpreter"));
}

/// Runs work that must not panic into C, and returns its code.
pub(super) fn guarded(name: &str, work: impl FnOnce() -> Result) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code as c_int,
        Err(_) => {
            tell_of_panic(name);
            Code::Unknown as c_int
        }
    }
}

/// Creates the driver from the environment variables, unless it exists.
pub(super) fn initialize() -> Result {
    let variable = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let configuration = Configuration::new(variable).map_err(|message| {
        tell(message);
        Code::InvalidValue
    })?;
    let mut driver = lock()?;
    if driver.is_none() {
        *driver = Some(Driver::new(configuration));
        if env::var_os("BINADE_PTX_COVERAGE").is_some() {
            write_coverage_at_exit();
        }
    }
    Ok(())
}

/// Returns the text of the last faulty kernel's report.
pub(super) fn last_report() -> String {
    let report = |driver: &Driver| driver.last_report().to_owned();
    lock().ok().and_then(|driver| driver.as_ref().map(report)).unwrap_or_default()
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
            tell(format_args!("{}: {error}", file.display()));
        }
        Ok(())
    });
}

/// Defines exported functions, each by its call, a `Result<()>`. A function with `_` for the driver also works before `cuInit`.
macro_rules! api {
    ($(fn $name:ident($driver:tt $(, $argument:ident: $kind:ty)* $(,)?) = $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            $crate::driver::api::call::api!(@call $name $driver $call)
        }
    )*};
    (@call $name:ident _ $call:expr) => { $crate::driver::api::call::guarded(stringify!($name), || $call) };
    (@call $name:ident $driver:ident $call:expr) => {
        $crate::driver::api::call::call(stringify!($name), |$driver| $call)
    };
}
pub(super) use api;

/// Defines exported functions of a library, each by its call, a `Result<()>` of its status or of the driver's code.
macro_rules! library_api {
    ([$status:ident] $(fn $name:ident($driver:ident $(, $argument:ident: $kind:ty)* $(,)?) = $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            use std::ffi::c_int;
            let own = [$status::NotInitialized as c_int, $status::InternalError as c_int];
            let number = |status: $status| status as c_int;
            $crate::driver::api::call::library(stringify!($name), own, number, |$driver| Ok($call?))
        }
    )*};
}
pub(super) use library_api;
