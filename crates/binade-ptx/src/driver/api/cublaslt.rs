//! Functions of cuBLASLt that multiply matrices. Programs load that library by its own name.

use std::ffi::{c_int, c_void};

use super::{
    abi::{In, Out, Untyped},
    call::library_api,
};
use crate::driver::state::{
    Algorithm, Desc, Descriptors, Handle, Layout, LtCall, LtStatus, Preference,
};

/// C type `cublasLtMatmulHeuristicResult_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Found {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

impl From<Algorithm> for Found {
    fn from(algorithm: Algorithm) -> Self {
        Self { algorithm, workspace: algorithm.workspace, state: 0, waves: 1.0, reserved: [0; 4] }
    }
}

/// Returns version 13.0.0.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    130_000
}

library_api! {
    [LtStatus]
    fn cublasLtCreate(driver, handle: Out<Handle>) = handle.set(driver.lt_create()?);
    fn cublasLtDestroy(driver, handle: Handle) = driver.lt.handles.delete(handle);
    fn cublasLtMatrixLayoutCreate(driver, layout: Out<Handle>, kind: u32, rows: usize, columns: usize, leading: i64) =
        layout.set(driver.lt.layouts.insert(Layout::new(kind, rows, columns, leading)?));
    fn cublasLtMatrixLayoutSetAttribute(driver, layout: Handle, attribute: u32, value: Untyped, bytes: usize) =
        driver.lt.layouts.get_mut(layout)?.set(attribute, &value.bytes(bytes)?);
    fn cublasLtMatrixLayoutDestroy(driver, layout: Handle) = driver.lt.layouts.delete(layout);
    fn cublasLtMatmulDescCreate(driver, desc: Out<Handle>, compute: u32, scale: u32) =
        desc.set(driver.lt.descs.insert(Desc::new(compute, scale)?));
    fn cublasLtMatmulDescSetAttribute(driver, desc: Handle, attribute: u32, value: Untyped, bytes: usize) =
        driver.lt.descs.get_mut(desc)?.set(attribute, &value.bytes(bytes)?);
    fn cublasLtMatmulDescDestroy(driver, desc: Handle) = driver.lt.descs.delete(desc);
    fn cublasLtMatmulPreferenceCreate(driver, preference: Out<Handle>) =
        preference.set(driver.lt.preferences.insert(Preference::default()));
    fn cublasLtMatmulPreferenceSetAttribute(driver, preference: Handle, attribute: u32, value: Untyped, bytes: usize) =
        driver.lt.preferences.get_mut(preference)?.set(attribute, &value.bytes(bytes)?);
    fn cublasLtMatmulPreferenceDestroy(driver, preference: Handle) = driver.lt.preferences.delete(preference);
    fn cublasLtMatmulAlgoGetHeuristic(
        driver, handle: Handle, desc: Handle, a: Handle, b: Handle, c: Handle, d: Handle, preference: Handle,
        most: c_int, found: Out<Found>, count: Out<c_int>,
    ) = if most < 1 {
        Err(LtStatus::InvalidValue)
    } else {
        count.set(0)?;
        let of = Descriptors { handle, desc, layouts: [a, b, c, d] };
        let most = usize::try_from(most).unwrap_or_default();
        let algorithms = driver.lt_choose(of, preference)?.into_iter().take(most);
        let all: Vec<Found> = algorithms.map(Found::from).collect();
        found.set_all(&all)?;
        count.set(c_int::try_from(all.len()).unwrap_or_default()).map_err(LtStatus::from)
    };
    // NVIDIA's library picks an algorithm itself if none is given; here one is required.
    fn cublasLtMatmul(
        driver, handle: Handle, desc: Handle, alpha: In<f32>, a: u64, a_layout: Handle, b: u64, b_layout: Handle,
        beta: In<f32>, c: u64, c_layout: Handle, d: u64, d_layout: Handle, algorithm: In<Algorithm>, workspace: u64,
        workspace_bytes: usize, stream: Handle,
    ) = {
        let of = Descriptors { handle, desc, layouts: [a_layout, b_layout, c_layout, d_layout] };
        let (alpha, beta, algorithm) = (alpha.get()?, beta.get()?, algorithm.get()?);
        driver.lt_multiply(of, &LtCall { alpha, beta, at: [a, b, c, d], algorithm, workspace, workspace_bytes, stream })
    };
}

// Checks the size of the struct against `cublasLt.h`.
const _: () = assert!(size_of::<Found>() == 96 && size_of::<*const c_void>() == 8);
