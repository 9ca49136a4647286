//! Functions of cuBLASLt that multiply matrices. Programs load that library by a name of its own.

use std::ffi::{c_int, c_void};

use super::{
    abi::{In, Out, Untyped},
    call::library_api,
};
use crate::driver::state::{Algorithm, Desc, Descriptors, Handle, Layout, LtCall, LtStatus};

/// Version that `cublasLtGetVersion` returns: 13.0.0.
const VERSION: usize = 130_000;

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

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    VERSION
}

library_api! {
    [LtStatus]

    fn cublasLtCreate(driver, handle: Out<Handle>) {
        Ok(handle.set(driver.lt_create()?)?)
    }

    fn cublasLtDestroy(driver, handle: Handle) {
        driver.lt_destroy(handle)
    }

    fn cublasLtMatrixLayoutCreate(
        driver,
        layout: Out<Handle>,
        kind: u32,
        rows: u64,
        columns: u64,
        leading: i64,
    ) {
        let made = Layout::new(kind, rows, columns, leading)?;
        Ok(layout.set(driver.lt_create_layout(made))?)
    }

    fn cublasLtMatrixLayoutSetAttribute(
        driver,
        layout: Handle,
        attribute: u32,
        value: Untyped,
        bytes: usize,
    ) {
        driver.lt_layout(layout)?.set(attribute, &value.bytes(bytes)?)
    }

    fn cublasLtMatrixLayoutDestroy(driver, layout: Handle) {
        driver.lt_destroy_layout(layout)
    }

    fn cublasLtMatmulDescCreate(driver, desc: Out<Handle>, compute: u32, scale: u32) {
        let made = Desc::new(compute, scale)?;
        Ok(desc.set(driver.lt_create_desc(made))?)
    }

    fn cublasLtMatmulDescSetAttribute(
        driver,
        desc: Handle,
        attribute: u32,
        value: Untyped,
        bytes: usize,
    ) {
        driver.lt_desc(desc)?.set(attribute, &value.bytes(bytes)?)
    }

    fn cublasLtMatmulDescDestroy(driver, desc: Handle) {
        driver.lt_destroy_desc(desc)
    }

    fn cublasLtMatmulPreferenceCreate(driver, preference: Out<Handle>) {
        Ok(preference.set(driver.lt_create_preference())?)
    }

    fn cublasLtMatmulPreferenceSetAttribute(
        driver,
        preference: Handle,
        attribute: u32,
        value: Untyped,
        bytes: usize,
    ) {
        driver.lt_preference(preference)?.set(attribute, &value.bytes(bytes)?)
    }

    fn cublasLtMatmulPreferenceDestroy(driver, preference: Handle) {
        driver.lt_destroy_preference(preference)
    }

    /// Returns one algorithm, however many are asked for.
    fn cublasLtMatmulAlgoGetHeuristic(
        driver,
        handle: Handle,
        desc: Handle,
        a: Handle,
        b: Handle,
        c: Handle,
        d: Handle,
        preference: Handle,
        most: c_int,
        found: Out<Found>,
        count: Out<c_int>,
    ) {
        if most < 1 {
            return Err(LtStatus::InvalidValue);
        }
        count.set(0)?;
        let of = Descriptors { handle, desc, layouts: [a, b, c, d] };
        let (algorithm, workspace) = driver.lt_choose(of, preference)?;
        let workspace = usize::try_from(workspace).map_err(|_| LtStatus::InternalError)?;
        found.set(Found { algorithm, workspace, state: 0, waves: 1.0, reserved: [0; 4] })?;
        Ok(count.set(1)?)
    }

    /// Multiplies matrices by the given algorithm. NVIDIA's library picks one itself if none is given; here one is required.
    fn cublasLtMatmul(
        driver,
        handle: Handle,
        desc: Handle,
        alpha: In<f32>,
        a: u64,
        a_layout: Handle,
        b: u64,
        b_layout: Handle,
        beta: In<f32>,
        c: u64,
        c_layout: Handle,
        d: u64,
        d_layout: Handle,
        algorithm: In<Algorithm>,
        workspace: u64,
        workspace_bytes: usize,
        stream: Handle,
    ) {
        let of = Descriptors { handle, desc, layouts: [a_layout, b_layout, c_layout, d_layout] };
        let call = LtCall {
            alpha: alpha.get()?,
            beta: beta.get()?,
            at: [a, b, c, d],
            algorithm: algorithm.get()?,
            workspace,
            workspace_bytes,
            stream,
        };
        driver.lt_multiply(of, &call)
    }
}

// Checks the size of the struct against `cublasLt.h`.
const _: () = assert!(size_of::<Found>() == 96 && size_of::<*const c_void>() == 8);
