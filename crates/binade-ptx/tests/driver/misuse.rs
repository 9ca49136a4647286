//! Misuse: the answer to any argument is a code.

use std::ptr::null_mut;

use cudarc::driver::{
    CudaContext, DriverError, result,
    sys::{self, CUresult},
};

use super::{
    abroad::symbol,
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
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
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
            assert_eq!(sys::cuStreamCreate(null_mut(), 1), null);
            assert_eq!(sys::cuModuleLoadData(null_mut(), null_mut()), null);
            assert_eq!(sys::cuMemcpyHtoD_v2(0, null_mut(), 4), null);
        }
    });
}
