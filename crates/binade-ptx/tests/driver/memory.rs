//! Device memory through cudarc, and further calls of its result layer.

use cudarc::driver::{CudaContext, DriverError, result, sys::CUresult};

use super::process::{alone, refused};

#[test]
fn memory_that_nobody_wrote_is_not_copied_to_the_host() {
    let told = alone!({
        let stream = CudaContext::new(0).unwrap().default_stream();
        // SAFETY: not set on purpose; every pattern is an `f32`.
        let [mut x, mut y] = [(); 2].map(|()| unsafe { stream.alloc::<f32>(5) }.unwrap());
        stream.memcpy_htod(&[1.0; 4], &mut x.slice_mut(..4)).unwrap();
        assert!(stream.clone_dtoh(&x).is_err());
        // A copy has what it is of, and no more.
        stream.memcpy_dtod(&x, &mut y).unwrap();
        assert!(stream.clone_dtoh(&y).is_err());
        assert_eq!(stream.clone_dtoh(&y.slice(..4)).unwrap(), [1.0; 4]);
        stream.memset_zeros(&mut y).unwrap();
        assert_eq!(stream.clone_dtoh(&y).unwrap(), [0.0; 5]);
    });
    assert!(told.is_none_or(|told| told.contains("of 20 bytes at 0x700000000000 some were never")));
}

#[test]
fn a_copy_beyond_an_allocation_is_refused_whole() {
    let told = alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let x = stream.clone_htod(&[7_u8; 16]).unwrap();
        let pointer = x.leak();
        let invalid = Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE));
        // SAFETY: the driver checks the device's side, which is what is tested; the host's slices are whole.
        unsafe {
            assert_eq!(result::memcpy_htod_sync(pointer, &[1_u8; 17]), invalid);
            assert_eq!(result::memcpy_dtoh_sync(&mut [0_u8; 2], pointer + 15), invalid);
            assert_eq!(result::memset_d8_sync(pointer + 1, 0, 16), invalid);
            assert_eq!(result::memcpy_dtod_sync(pointer, pointer + 1, 16), invalid);
            assert_eq!(result::memcpy_htod_sync(0x1234, &[1_u8]), invalid);
            let mut values = [0_u8; 16];
            result::memcpy_dtoh_sync(&mut values, pointer).unwrap();
            assert_eq!(values, [7; 16]);
            assert_eq!(result::free_sync(pointer + 1), invalid);
            result::free_sync(pointer).unwrap();
            assert_eq!(result::free_sync(pointer), invalid);
        }
        context.synchronize().unwrap();
    });
    assert!(told.is_none_or(|told| told.contains("17 bytes at 0x")));
}

#[test]
fn memory_in_use_is_counted() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let (free, total) = context.mem_get_info().unwrap();
        assert_eq!(total, context.total_mem().unwrap());
        let x = stream.alloc_zeros::<u8>(4 << 20).unwrap();
        assert!(context.mem_get_info().unwrap().0 <= free - (4 << 20));
        drop(x);
        // SAFETY: the memory is never used.
        refused!(unsafe { stream.alloc::<u8>(total + 1) }, CUDA_ERROR_OUT_OF_MEMORY);
    });
}
