//! Contexts: a context's objects end with it.

use std::{sync::Arc, thread};

use cudarc::driver::{CudaContext, result};

use super::{
    kernels::{SCALE, function, scale},
    process::{alone, refused},
};

#[test]
fn memory_that_was_never_freed_ends_with_its_context() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let pointer = context.default_stream().clone_htod(&[1_u8; 1000]).unwrap().leak();
        drop(context);
        let context = CudaContext::new(0).unwrap();
        let (free, total) = context.mem_get_info().unwrap();
        assert_eq!(free, total);
        // SAFETY: the stale pointer is what is tested; the host's side is whole.
        let stale = unsafe { result::memcpy_dtoh_sync(&mut [0_u8; 4], pointer) };
        refused!(stale, CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn threads_share_the_device() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let function = Arc::new(function(&context, SCALE, "scale"));
        let work = |number: u8| {
            let (context, function) = (Arc::clone(&context), Arc::clone(&function));
            thread::spawn(move || {
                let stream = context.new_stream().unwrap();
                let x = stream.clone_htod(&[f32::from(number); 100]).unwrap();
                let mut y = stream.alloc_zeros::<f32>(100).unwrap();
                for _ in 0..20 {
                    scale(&stream, &function, &x, &mut y, 100).unwrap();
                }
                stream.clone_dtoh(&y).unwrap() == [f32::from(number) * 0.5; 100]
            })
        };
        let threads: Vec<_> = (0..8).map(work).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}
