//! Streams and events outside of captures.

use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::{CudaContext, sys::CUevent_flags};

use super::{
    kernels::{SCALE, function, scale},
    process::alone,
};

#[test]
fn two_streams_work_in_the_order_of_their_calls_and_wait_for_each_other() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let function = function(&context, SCALE, "scale");
        let x = first.clone_htod(&[4.0_f32, 8.0]).unwrap();
        let (mut y, mut z) = (first.alloc_zeros(2).unwrap(), second.alloc_zeros::<f32>(2).unwrap());
        scale(&first, &function, &x, &mut y, 2).unwrap();
        second.join(&first).unwrap();
        scale(&second, &function, &y, &mut z, 2).unwrap();
        assert_eq!(second.clone_dtoh(&z).unwrap(), [1.0, 2.0]);
        first.synchronize().unwrap();
    });
}

#[test]
fn events_tell_the_time_between_them_and_whether_they_are_past() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let before = stream.record_event(timed).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let after = stream.record_event(timed).unwrap();
        after.synchronize().unwrap();
        assert!(before.is_complete() && after.is_complete());
        assert!(before.elapsed_ms(&after).unwrap() >= 5.0);
        let untimed = stream.record_event(None).unwrap();
        assert!(before.elapsed_ms(&untimed).is_err());
    });
}

#[test]
fn a_device_that_is_behind_comes_to_an_event_late_or_when_the_host_waits() {
    alone!(["BINADE_PTX_LAG" = "50"], {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let record = || stream.record_event(None).unwrap();
        let [first, second] = [record(), record()];
        assert!(!first.is_complete() && !second.is_complete());
        (0..48).for_each(|_| drop(record()));
        let third = record();
        assert!(first.is_complete() && !second.is_complete());
        second.synchronize().unwrap();
        assert!(second.is_complete() && !third.is_complete());
        let mut memory = stream.alloc_zeros::<u8>(1 << 17).unwrap();
        stream.memcpy_htod(&vec![0; 1 << 16], &mut memory).unwrap();
        assert!(!third.is_complete(), "64 KiB are taken at once");
        stream.memcpy_htod(&vec![0; 1 << 17], &mut memory).unwrap();
        assert!(third.is_complete(), "the host waits until more pageable memory is read");
        let fourth = record();
        stream.clone_dtoh(&memory).unwrap();
        assert!(fourth.is_complete(), "the host waits for what it reads");
    });
}

static CALLS: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_host_function_is_called_each_time_and_cannot_call_back() {
    unsafe extern "C" fn called(_: *mut std::ffi::c_void) {
        // Without a context of its own the thread may not ask for one here.
        assert!(cudarc::driver::result::mem_get_info().is_err());
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        // SAFETY: the function takes any argument, from any thread.
        let launch = || unsafe {
            cudarc::driver::result::stream::launch_host_function(
                stream.cu_stream(),
                called,
                std::ptr::null_mut(),
            )
        };
        launch().unwrap();
        launch().unwrap();
        stream.synchronize().unwrap();
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        context.synchronize().unwrap();
    });
}
