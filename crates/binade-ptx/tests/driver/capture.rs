//! Graphs: captured work does not run, replays use memory as it is then, and CUDA forbids some calls meanwhile.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaGraph, CudaStream, DriverError, result,
    sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
};

use super::{
    kernels::{SCALE, function, scale},
    process::{alone, refused},
};

const LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;

/// Returns a context whose slices record no events of their own, and a stream.
fn context() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    // SAFETY: the tests order their streams themselves.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    (context, stream)
}

fn end(stream: &Arc<CudaStream>) -> Result<Option<CudaGraph>, DriverError> {
    stream.end_capture(CUgraphInstantiate_flags(0))
}

#[test]
fn a_local_capture_lets_other_threads_ask_for_events_and_forbids_it_to_its_own() {
    alone!({
        let (context, stream) = context();
        let event = context.new_stream().unwrap().record_event(None).unwrap();
        stream.begin_capture(LOCAL).unwrap();
        std::thread::scope(|scope| {
            let ask = || {
                context.bind_to_thread().unwrap();
                event.try_is_complete()
            };
            assert!(scope.spawn(ask).join().unwrap().unwrap());
        });
        refused!(event.try_is_complete(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        refused!(end(&stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    });
}

#[test]
fn a_capture_is_of_one_stream_and_takes_no_memory() {
    alone!({
        let (context, first) = context();
        let second = context.new_stream().unwrap();
        first.begin_capture(GLOBAL).unwrap();
        refused!(first.alloc_zeros::<f32>(1), CUDA_ERROR_NOT_SUPPORTED);
        first.wait(&first.record_event(None).unwrap()).unwrap();
        refused!(second.join(&first), CUDA_ERROR_NOT_SUPPORTED);
        refused!(end(&first), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        second.synchronize().unwrap();
    });
}

#[test]
fn waiting_while_capturing_spoils_the_capture() {
    alone!({
        let (_context, stream) = context();
        let mut x = stream.alloc_zeros::<f32>(1).unwrap();
        stream.synchronize().unwrap();
        stream.begin_capture(LOCAL).unwrap();
        refused!(stream.synchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        refused!(stream.memset_zeros(&mut x), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        refused!(end(&stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        stream.synchronize().unwrap();
        stream.begin_capture(LOCAL).unwrap();
        stream.memset_zeros(&mut x).unwrap();
        end(&stream).unwrap().unwrap().launch().unwrap();
    });
}

#[test]
fn an_event_from_outside_does_not_enter_a_capture() {
    alone!({
        let (_context, stream) = context();
        let event = stream.record_event(None).unwrap();
        stream.begin_capture(GLOBAL).unwrap();
        refused!(stream.wait(&event), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        refused!(end(&stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    });
}

#[test]
fn a_captured_event_cannot_be_waited_for_on_the_host() {
    alone!({
        let (_context, stream) = context();
        stream.begin_capture(GLOBAL).unwrap();
        let event = stream.record_event(None).unwrap();
        refused!(event.synchronize(), CUDA_ERROR_CAPTURED_EVENT);
        assert!(end(&stream).is_err());
    });
}

#[test]
fn memory_taken_elsewhere_spoils_a_global_capture_and_no_local_one() {
    alone!({
        let (context, stream) = context();
        for (mode, is_refused) in [(GLOBAL, true), (LOCAL, false)] {
            stream.begin_capture(mode).unwrap();
            let other = Arc::clone(&context);
            let allocate = move || {
                other.bind_to_thread().unwrap();
                // SAFETY: the memory is not used.
                unsafe { result::malloc_sync(4) }
            };
            assert_eq!(std::thread::spawn(allocate).join().unwrap().is_err(), is_refused);
            assert_eq!(end(&stream).is_err(), is_refused);
        }
    });
}

#[test]
fn the_legacy_stream_cannot_capture_and_runs_beside_a_stream_that_does_not_block_it() {
    alone!({
        let (context, stream) = context();
        let legacy = context.default_stream();
        refused!(legacy.begin_capture(GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        let mut x = legacy.alloc_zeros::<f32>(1).unwrap();
        context.synchronize().unwrap();
        stream.begin_capture(LOCAL).unwrap();
        legacy.memset_zeros(&mut x).unwrap();
        end(&stream).unwrap();
    });
}

#[test]
fn a_fault_in_a_graph_is_the_contexts_and_not_the_launchs() {
    alone!({
        let (context, stream) = context();
        let broken = function(&context, SCALE, "scale_off_by_one");
        let x = stream.clone_htod(&[1.0_f32; 32]).unwrap();
        let mut y = stream.alloc_zeros::<f32>(32).unwrap();
        stream.synchronize().unwrap();
        stream.begin_capture(LOCAL).unwrap();
        scale(&stream, &broken, &x, &mut y, 32).unwrap();
        let graph = end(&stream).unwrap().unwrap();
        graph.launch().unwrap();
        refused!(stream.synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}
