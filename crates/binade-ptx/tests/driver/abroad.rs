//! Calls as a C program makes them, without cudarc, and the interpreter's exports beyond CUDA.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    sync::Arc,
};

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Returns the address of a function of the driver.
pub(crate) fn symbol(name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: both names end with 0; 2 is `RTLD_NOW` on Linux; the library runs no code of its own when it is loaded.
    let symbol = unsafe { dlsym(dlopen(c"libcuda.so.1".as_ptr(), 2), name.as_ptr()) };
    assert!(!symbol.is_null(), "{name:?} is not exported");
    symbol
}

/// Returns the report of the last faulty kernel.
pub(crate) fn last_report() -> String {
    type Report = extern "C" fn(*mut u8, usize) -> usize;
    // SAFETY: the function has this type, as `binade-ptx` documents it.
    let report: Report = unsafe { std::mem::transmute(symbol("binade_ptx_last_report")) };
    let mut text = vec![0; report(std::ptr::null_mut(), 0) + 1];
    let length = report(text.as_mut_ptr(), text.len());
    text.truncate(length);
    String::from_utf8(text).unwrap()
}

/// Launches one block of `block_sum`.
pub(crate) fn sum(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(function);
    launch.arg(x).arg(y).arg(&128_u32);
    // SAFETY: the arguments are the entry's three parameters in order.
    unsafe { launch.launch(config) }.map(|_| ())
}
