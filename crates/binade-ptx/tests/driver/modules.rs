//! Modules: loading, and refusals by their codes.

use std::ffi::CString;

use cudarc::driver::{
    CudaContext, DriverError, result,
    sys::{CUfunction_attribute, CUmodule, CUresult},
};

use super::{
    kernels::{SCALE, function},
    process::{alone, refused},
};

fn load(text: &str) -> Result<CUmodule, DriverError> {
    let text = CString::new(text).unwrap();
    // SAFETY: the image is text that ends with 0 and lives through the call.
    unsafe { result::module::load_data(text.as_ptr().cast()) }
}

#[test]
fn what_is_too_new_or_not_ptx_is_refused_with_cudas_codes() {
    let told = alone!(["BINADE_PTX_CC" = "7.5"], {
        let _context = CudaContext::new(0).unwrap();
        assert!(load(SCALE).is_ok());
        refused!(load(&SCALE.replace("sm_75", "sm_80")), CUDA_ERROR_NO_BINARY_FOR_GPU);
        refused!(load(&SCALE.replace("mul.rn.f32", "mul.strange.f32")), CUDA_ERROR_INVALID_PTX);
        refused!(load("\u{7f}ELF"), CUDA_ERROR_INVALID_IMAGE);
    });
    assert!(told.is_none_or(|told| told.contains("unknown instruction form `mul.strange.f32`")));
}

#[test]
fn an_entry_that_is_not_there_is_not_found() {
    let told = alone!({
        let _context = CudaContext::new(0).unwrap();
        let module = load(SCALE).unwrap();
        // SAFETY: the module is loaded.
        let outcome = unsafe { result::module::get_function(module, c"scales".to_owned()) };
        refused!(outcome, CUDA_ERROR_NOT_FOUND);
    });
    assert!(told.is_none_or(|told| told.contains("it has scale, scale_off_by_one")));
}

#[test]
fn an_unloaded_modules_functions_are_gone() {
    alone!({
        let _context = CudaContext::new(0).unwrap();
        let module = load(SCALE).unwrap();
        // SAFETY: stale handles are what is tested; this driver looks them up.
        unsafe {
            let function = result::module::get_function(module, c"scale".to_owned()).unwrap();
            result::module::unload(module).unwrap();
            let stale = Err(DriverError(CUresult::CUDA_ERROR_INVALID_HANDLE));
            assert_eq!(result::module::unload(module), stale);
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
            assert_eq!(
                result::function::get_function_attribute(function, attribute).err(),
                stale.err()
            );
        }
    });
}

#[test]
fn functions_tell_their_limits_and_how_many_blocks_fit() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let function = function(&context, SCALE, "scale");
        assert_eq!(function.max_threads_per_block().unwrap(), 1024);
        assert_eq!(function.shared_size_bytes().unwrap(), 0);
        let fit = function.occupancy_max_active_blocks_per_multiprocessor(128, 0, None);
        // A multiprocessor has 2048 threads.
        assert_eq!(fit.unwrap(), 16);
        let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function.set_attribute(dynamic, 100 << 10).unwrap();
        assert_eq!(function.get_attribute(dynamic).unwrap(), 100 << 10);
        assert!(function.set_attribute(dynamic, 1 << 30).is_err());
    });
}
