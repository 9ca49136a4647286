//! Tests of devices that fail: a stranger's kernel reads unmapped memory, and every later call says so for good; and a driver
//! that fails in one call, behind a replay.
//!
//! They run in a process of their own, since a process cannot use CUDA again after such a failure.

mod unreported;

use binade_autocast::Autocast;
use binade_core::ops::Upload;
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_cuda::{Communicator, Cuda, CudaError, CudaRank, Error, cudarc};
use binade_grad_scaler::{LossScale, Scaler};
use cudarc::{
    driver::{CudaContext, LaunchConfig, PushKernelArg},
    nvrtc::Ptx,
};
use libtest_mimic::{Arguments, Failed, Trial};
use std::{thread, time::Duration};

/// Kernel that stores at an address it is given.
const STORE: &str = ".version 6.3
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [to];
	mov.b32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}
";

/// Name of a test, the test, and true if it cannot run here.
type Test = (&'static str, fn() -> Result<(), Failed>, bool);

fn main() {
    let mut arguments = Arguments::from_args();
    // The device is lost last.
    arguments.test_threads = Some(1);
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let must = required.split(',').any(|name| ["cuda", "ptx"].contains(&name.trim()));
    let name = Cuda::open(0).and_then(|cuda| cuda.name());
    let absent = !must && name.is_err();
    // A GPU calls the host function long after the replay has returned.
    let is_late = absent || name.is_ok_and(|name| !name.contains("interpreter"));
    let alone = absent || !CudaContext::device_count().is_ok_and(|count| count > 1);
    let tests: [Test; 3] = [
        (
            "a_replay_whose_report_is_not_sent_says_that_the_step_is_done",
            unreported::unreported,
            is_late,
        ),
        ("a_rank_whose_device_is_lost_is_named_and_the_other_devices_go_on", lost_rank, alone),
        ("a_lost_device_says_so_at_every_call_and_drops_quietly", lost, absent),
    ];
    let trial = |(name, run, skip)| Trial::test(name, run).with_ignored_flag(skip);
    libtest_mimic::run(&arguments, tests.map(trial).into()).exit();
}

fn lost() -> Result<(), Failed> {
    let cuda = Cuda::open(0)?;
    let tensor = cuda.upload(&[1.0], &[1], DType::F16)?;
    let step = || cuda.cast(&tensor, DType::F32);
    let (_, begun) = cuda.capture().warm_up(step)?;
    let (_, capture) = cuda.capture().warm_up(step)?;
    let (_, capture) = capture.warm_up(step)?;
    let captured = capture.capture(step)?;
    captured.replay()?;
    cuda.synchronize()?;
    spoil(&cuda)?;

    let first = cuda.synchronize().expect_err("the store was nowhere");
    let Error::Driver(CudaError::Lost { cause, kernel }) = &first else {
        return Err(format!("{first}").into());
    };
    assert!(cause.contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "{cause}");
    // The error names the last kernel of ours: a stranger's launch is not known here.
    assert_eq!(*kernel, "cast");
    assert_eq!(first.kind(), ErrorKind::DeviceLost);

    assert_eq!(cuda.upload(&[1.0], &[1], DType::F32).expect_err("lost"), first);
    assert_eq!(cuda.to_bits(&tensor).expect_err("lost"), first);
    assert_eq!(cuda.clone().synchronize().expect_err("lost"), first);
    assert_eq!(captured.replay().expect_err("lost"), first);
    assert_eq!(begun.warm_up(step).expect_err("lost"), first);
    assert_eq!(cuda.capture().warm_up(step).expect_err("lost"), first);
    drop(captured);
    drop(tensor);
    drop(cuda);
    Ok(())
}

/// Two devices are needed: on one, both ranks are lost.
fn lost_rank() -> Result<(), Failed> {
    let devices = vec![Cuda::open(0)?, Cuda::open(1)?];
    let ranks = Communicator::peers(devices.clone(), Duration::from_mins(2));
    let step = |rank: CudaRank| {
        let grads = rank.upload(&[1.0], &[1], DType::F16)?;
        if rank.communicator().rank() == 1 {
            spoil(rank.cuda()).expect("a launch");
            rank.cuda().synchronize().expect_err("the store was nowhere");
        }
        let scaler = Scaler::new(rank, LossScale::dynamic())?;
        scaler.check_unscaled(vec![Named::new("w", Some(grads))].into()).map(drop)
    };
    let run = |rank| CudaRank::new(rank).and_then(step).expect_err("a rank is lost");
    let errors: Vec<Error> = thread::scope(|scope| {
        let running: Vec<_> =
            ranks.into_iter().map(|rank| scope.spawn(move || run(rank))).collect();
        running.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    });
    assert!(errors[0].to_string().contains("rank 1 has ended"), "{}", errors[0]);
    assert!(matches!(errors[1], Error::Driver(CudaError::Lost { .. })), "{}", errors[1]);
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::DeviceLost));
    devices[0].synchronize()?;
    Ok(())
}

#[expect(unsafe_code, reason = "a kernel that does what it must not")]
fn spoil(cuda: &Cuda) -> Result<(), Failed> {
    let stream = cuda.stream();
    let store = stream.context().load_module(Ptx::from_src(STORE))?.load_function("store")?;
    let nowhere = 64_u64;
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: none is meant: no memory is there, which the device answers by stopping all work. No Rust value is touched.
    unsafe { stream.launch_builder(&store).arg(&nowhere).launch(one) }?;
    Ok(())
}
