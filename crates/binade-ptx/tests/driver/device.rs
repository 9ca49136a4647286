//! Attributes of the device.

use cudarc::driver::CudaContext;

use super::process::{alone, refused};

#[test]
fn the_device_says_that_it_is_an_interpreter() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        assert_eq!(context.name().unwrap(), "Binade PTX interpreter");
        assert_eq!(context.compute_capability().unwrap(), (8, 0));
        assert_eq!(CudaContext::device_count().unwrap(), 1);
        assert!(context.has_async_alloc());
        assert!(context.total_mem().unwrap() > 1 << 30);
        context.synchronize().unwrap();
    });
}

#[test]
fn a_capability_that_is_not_simulated_is_refused_by_its_value() {
    let told = alone!(["BINADE_PTX_CC" = "9.0"], {
        refused!(CudaContext::new(0), CUDA_ERROR_INVALID_VALUE);
    });
    assert!(told.is_none_or(|told| told.contains("BINADE_PTX_CC is `9.0`; it may be 7.5 or 8.0")));
}

#[test]
fn sums_of_products_that_no_mode_has_are_refused_by_their_value() {
    let told = alone!(["BINADE_PTX_MMA" = "fast"], {
        refused!(CudaContext::new(0), CUDA_ERROR_INVALID_VALUE);
    });
    let wanted = "BINADE_PTX_MMA is `fast`; it may be exact or truncating";
    assert!(told.is_none_or(|told| told.contains(wanted)));
}

#[test]
fn a_lag_that_is_no_number_is_refused_by_its_value() {
    let told = alone!(["BINADE_PTX_LAG" = "-1"], {
        refused!(CudaContext::new(0), CUDA_ERROR_INVALID_VALUE);
    });
    let wanted = "BINADE_PTX_LAG is `-1`; it may be a number of events";
    assert!(told.is_none_or(|told| told.contains(wanted)));
}

#[test]
fn a_second_device_is_not_there() {
    alone!({
        let error = CudaContext::new(1).unwrap_err();
        assert_eq!(error.error_name().unwrap(), c"CUDA_ERROR_INVALID_DEVICE");
        assert_eq!(error.error_string().unwrap(), c"invalid device ordinal");
    });
}
