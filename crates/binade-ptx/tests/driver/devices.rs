//! Several devices in one process: memory, faults and events belong to one device, and only a copy that names both goes between.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaStream, DriverError, LaunchConfig, PushKernelArg, result,
    sys::{self, CUresult},
};

use super::{
    kernels::{SCALE, function},
    process::{alone, refused},
};

/// Returns a context and a stream of each of two devices.
fn two() -> [(Arc<CudaContext>, Arc<CudaStream>); 2] {
    [0, 1].map(|ordinal| {
        let context = CudaContext::new(ordinal).unwrap();
        let stream = context.new_stream().unwrap();
        (context, stream)
    })
}

#[test]
fn the_environment_chooses_how_many_devices_there_are() {
    alone!(["BINADE_PTX_DEVICES" = "3"], {
        assert_eq!(CudaContext::device_count().unwrap(), 3);
        let contexts = [0, 1, 2].map(|ordinal| CudaContext::new(ordinal).unwrap());
        assert_eq!(contexts.each_ref().map(|context| context.ordinal()), [0, 1, 2]);
        refused!(CudaContext::new(3), CUDA_ERROR_INVALID_DEVICE);
    });
}

#[test]
fn each_device_has_memory_of_its_own() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, stream), (second, _)] = two();
        let x = stream.clone_htod(&vec![1_u8; 1 << 20]).unwrap();
        let (free, total) = first.mem_get_info().unwrap();
        assert_eq!(total - free, 1 << 20);
        let (free, total) = second.mem_get_info().unwrap();
        assert_eq!(free, total);
        drop(x);
    });
}

#[test]
fn an_address_of_another_device_is_illegal_to_a_kernel_and_its_own_device_goes_on() {
    let told = alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, here), (second, there)] = two();
        let x = here.clone_htod(&[1.0_f32; 4]).unwrap();
        let y = there.clone_htod(&[2.0_f32; 4]).unwrap();
        let scale = function(&second, SCALE, "scale");
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        let (theirs, ours) = (x.leak(), y.leak());
        let mut launch = there.launch_builder(&scale);
        launch.arg(&theirs).arg(&ours).arg(&0.5_f32).arg(&4_u32);
        // SAFETY: the arguments are the entry's four parameters; that one is another device's is what is tested.
        unsafe { launch.launch(config) }.unwrap();
        let illegal = DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(there.synchronize().unwrap_err(), illegal);
        first.bind_to_thread().unwrap();
        let mut values = [0.0_f32; 4];
        // SAFETY: the pointer was leaked above, and the host's side is whole.
        unsafe { result::memcpy_dtoh_sync(&mut values, theirs) }.unwrap();
        assert_eq!(values, [1.0; 4]);
    });
    assert!(told.is_none_or(|told| told.contains("out-of-bounds 4-byte read of global memory")));
}

#[test]
fn what_is_made_in_one_context_is_not_launched_in_another() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, here), (second, there)] = two();
        let scale = function(&first, SCALE, "scale");
        let invalid = Some(DriverError(CUresult::CUDA_ERROR_INVALID_HANDLE));
        let mut args = [(&raw const scale).cast_mut().cast(); 4];
        let mut launch = |context: &Arc<CudaContext>, stream: &CudaStream| {
            context.bind_to_thread().unwrap();
            let (raw, one) = (scale.cu_function(), (1, 1, 1));
            // SAFETY: as many pointers as parameters, to more bytes than these take; nothing of it runs where it is refused, and
            // with `n` whatever it is the interpreter checks each access.
            unsafe { result::launch_kernel(raw, one, one, 0, stream.cu_stream(), &mut args) }
        };
        assert_eq!(launch(&second, &there).err(), invalid);
        assert_eq!(launch(&second, &here).err(), invalid);
        assert_eq!(launch(&first, &there).err(), invalid);
    });
}

#[test]
fn a_peer_copy_goes_between_devices_behind_what_its_stream_has_waited_for() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, here), (second, there)] = two();
        let x = here.clone_htod(&[7_u8; 16]).unwrap();
        let y = there.alloc_zeros::<u8>(16).unwrap();
        there.wait(&here.record_event(None).unwrap()).unwrap();
        let (from, to) = (x.leak(), y.leak());
        let copy = |to: u64, to_context: &CudaContext, from: u64, from_context: &CudaContext| {
            let (to_context, from_context) = (to_context.cu_ctx(), from_context.cu_ctx());
            // SAFETY: what is wrong with the addresses is what is tested; the driver looks them up.
            unsafe {
                result::memcpy_peer_async(to_context, to, from_context, from, 16, there.cu_stream())
            }
        };
        copy(to, &second, from, &first).unwrap();
        second.bind_to_thread().unwrap();
        let mut values = [0_u8; 16];
        // SAFETY: the pointer was leaked above, and the host's side is whole.
        unsafe { result::memcpy_dtoh_sync(&mut values, to) }.unwrap();
        assert_eq!(values, [7; 16]);
        // Contexts that the addresses are not of, and an address beyond the allocation.
        refused!(copy(to, &first, from, &first), CUDA_ERROR_INVALID_VALUE);
        refused!(copy(to, &second, from, &second), CUDA_ERROR_INVALID_VALUE);
        refused!(copy(to + 1, &second, from, &first), CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn other_copies_and_fills_stay_on_their_device() {
    let told = alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(_first, here), (second, there)] = two();
        let x = here.clone_htod(&[7_u8; 16]).unwrap().leak();
        let y = there.clone_htod(&[8_u8; 16]).unwrap().leak();
        second.bind_to_thread().unwrap();
        let stream = there.cu_stream();
        // SAFETY: that the address is another device's is what is tested; the host's sides are whole.
        unsafe {
            let mut values = [0_u8; 16];
            refused!(result::memcpy_dtoh_async(&mut values, x, stream), CUDA_ERROR_INVALID_VALUE);
            refused!(result::memcpy_htod_async(x, &values, stream), CUDA_ERROR_INVALID_VALUE);
            refused!(result::memcpy_dtod_async(y, x, 16, stream), CUDA_ERROR_INVALID_VALUE);
            refused!(result::memcpy_dtod_async(x, y, 16, stream), CUDA_ERROR_INVALID_VALUE);
            refused!(result::memset_d8_async(x, 0, 16, stream), CUDA_ERROR_INVALID_VALUE);
        }
    });
    assert!(told.is_none_or(|told| told.contains("is device 0's, and the context device 1's")));
}

#[test]
fn no_device_reaches_another() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, _), (second, _)] = two();
        let mut can = -1;
        // SAFETY: the driver writes one int; the contexts are alive.
        unsafe {
            let [a, b] = [first.cu_device(), second.cu_device()];
            sys::cuDeviceCanAccessPeer(&raw mut can, a, b).result().unwrap();
        }
        assert_eq!(can, 0);
    });
}

#[test]
fn a_fault_of_one_device_is_none_of_another() {
    alone!(["BINADE_PTX_DEVICES" = "2"], {
        let [(first, here), (second, there)] = two();
        let broken = function(&first, SCALE, "scale_off_by_one");
        let x = here.clone_htod(&[1.0_f32; 5]).unwrap();
        let mut y = here.alloc_zeros::<f32>(5).unwrap();
        // The launch itself, or the event that cudarc puts behind it.
        crate::driver::kernels::scale(&here, &broken, &x, &mut y, 5).ok();
        assert!(here.synchronize().is_err());
        there.synchronize().unwrap();
        let x = there.clone_htod(&[2.0_f32; 5]).unwrap();
        let mut y = there.alloc_zeros::<f32>(5).unwrap();
        let right = function(&second, SCALE, "scale");
        crate::driver::kernels::scale(&there, &right, &x, &mut y, 5).unwrap();
        assert_eq!(there.clone_dtoh(&y).unwrap(), [1.0; 5]);
    });
}
