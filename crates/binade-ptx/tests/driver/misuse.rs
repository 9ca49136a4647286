//! Misuse: the answer to any argument is a code.

use std::ptr::null_mut;

use cudarc::driver::{
    CudaContext, DriverError, result,
    sys::{self, CUresult},
};

use super::{
    abroad::symbol,
    kernels::SCALE,
    process::{alone, refused},
};

/// Functions that cudarc 0.19.10 looks up for contexts, memory, modules, launches, streams, events, pools and graphs. It panics
/// if one is missing.
const NEEDED: &str = include_str!("needed.txt");

#[test]
fn every_function_that_cudarc_calls_is_exported() {
    alone!({
        for name in NEEDED.split_whitespace() {
            symbol(name);
        }
    });
}

#[test]
fn calls_before_initialisation_and_without_a_context_are_refused() {
    alone!({
        refused!(result::device::get_count(), CUDA_ERROR_NOT_INITIALIZED);
        result::init().unwrap();
        refused!(result::mem_get_info(), CUDA_ERROR_INVALID_CONTEXT);
    });
}

#[test]
fn handles_of_what_is_gone_are_invalid() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stale = Some(DriverError(CUresult::CUDA_ERROR_INVALID_HANDLE));
        let stream = result::stream::create(result::stream::StreamKind::Default).unwrap();
        // SAFETY: stale handles are what is tested; this driver looks them up.
        unsafe {
            result::stream::destroy(stream).unwrap();
            assert_eq!(result::stream::destroy(stream).err(), stale);
            assert_eq!(result::stream::synchronize(stream).err(), stale);
            let raw = context.cu_ctx();
            drop(context);
            let gone = Some(DriverError(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
            assert_eq!(result::mem_get_info().err(), gone);
            let invalid = Some(DriverError(CUresult::CUDA_ERROR_INVALID_CONTEXT));
            assert_eq!(result::ctx::set_current(raw).err(), invalid);
        }
    });
}

#[test]
fn null_places_for_results_are_refused() {
    alone!({
        let _context = CudaContext::new(0).unwrap();
        // SAFETY: null is what is tested; this driver checks for it.
        unsafe {
            let null = CUresult::CUDA_ERROR_INVALID_VALUE;
            assert_eq!(sys::cuDeviceGetCount(null_mut()), null);
            assert_eq!(sys::cuMemAlloc_v2(null_mut(), 4), null);
            assert_eq!(sys::cuStreamCreate(null_mut(), 0), null);
            assert_eq!(sys::cuModuleLoadData(null_mut(), null_mut()), null);
            assert_eq!(sys::cuMemcpyHtoD_v2(0, null_mut(), 4), null);
        }
    });
}

/// Returns a random argument: a handle that exists, existed or never did, or a size small, large or beyond all bounds.
fn values(random: &mut fastrand::Rng, known: &[u64]) -> u64 {
    match random.u8(..8) {
        0 => 0,
        1 => random.u64(..4),
        2 => random.u64(..),
        3 => u64::MAX - random.u64(..64),
        _ => known[random.usize(..known.len())].wrapping_add(random.u64(..3) / 2),
    }
}

#[test]
fn calls_at_random_with_handles_at_random_never_crash() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        let mut known = [256; 20];
        (known[0], known[1]) = (4, function_handle());
        let mut made = [0; MAKERS as usize];
        for _ in 0..100_000 {
            let mut results = 0;
            let [a, b, c] = std::array::from_fn(|_| values(&mut random, &known));
            let call = random.u8(..CALLS);
            if one(call, &raw mut results, a, b, c) == 0 && call < MAKERS {
                made[usize::from(call)] += 1;
                // Few are kept at a time, so that calls find each other's handles; the first stay.
                known[random.usize(3..20)] = results;
            }
            // A call may have changed the thread's context.
            context.bind_to_thread().unwrap();
        }
        assert!(made.iter().all(|times| *times > 0), "{made:?}");
    });
}

/// Returns the handle of a function that can be launched.
fn function_handle() -> u64 {
    let text = std::ffi::CString::new(SCALE).unwrap();
    // SAFETY: the image is text that ends with 0, and the module is never unloaded by its handle.
    let function = unsafe {
        let module = result::module::load_data(text.as_ptr().cast()).unwrap();
        result::module::get_function(module, c"scale".to_owned()).unwrap()
    };
    function as u64
}

/// Number of calls below that make something; they come first.
const MAKERS: u8 = 6;
const CALLS: u8 = 23;

/// Makes the driver call with this number. Calls that write host memory write `out`; those that read it read a zero.
fn one(call: u8, out: *mut u64, a: u64, b: u64, c: u64) -> i32 {
    // The number of arguments is that of `cuLaunchKernel`; the other functions read fewer.
    type Call = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> i32;
    let place = out as u64;
    let small = c % 4096;
    let calls = [
        ("cuMemAlloc_v2", [place, small, 0]),
        ("cuMemAllocAsync", [place, small, a]),
        ("cuStreamCreate", [place, a, 0]),
        ("cuEventCreate", [place, a % 4, 0]),
        ("cuStreamEndCapture", [a, place, 0]),
        ("cuGraphInstantiateWithFlags", [place, a, b % 4]),
        ("cuMemFree_v2", [a, 0, 0]),
        ("cuMemFreeAsync", [a, b, 0]),
        ("cuStreamDestroy_v2", [a, 0, 0]),
        ("cuEventDestroy_v2", [a, 0, 0]),
        ("cuEventRecord", [a, b, 0]),
        ("cuStreamWaitEvent", [a, b, 0]),
        ("cuStreamBeginCapture_v2", [a, b % 4, 0]),
        ("cuGraphLaunch", [a, b, 0]),
        ("cuGraphDestroy", [a, 0, 0]),
        ("cuGraphExecDestroy", [a, 0, 0]),
        ("cuMemcpyDtoD_v2", [a, b, c]),
        ("cuMemsetD32_v2", [a, 7, c]),
        ("cuModuleUnload", [a, 0, 0]),
        ("cuModuleGetFunction", [place, a, c"scale".as_ptr() as u64]),
        ("cuStreamSynchronize", [a, 0, 0]),
        ("cuCtxSetCurrent", [a, 0, 0]),
        ("cuLaunchKernel", [a, b, c]),
    ];
    let (name, arguments) = calls[usize::from(call)];
    // SAFETY: every function takes at most so many integers or pointers; `place` is where the pointers point, and those
    // behind the third argument are null, which a launch refuses where it needs them.
    let function: Call = unsafe { std::mem::transmute(symbol(name)) };
    function(arguments[0], arguments[1], arguments[2], 0, 0, 0, 0, 0, 0, 0, 0)
}
