//! Refusals of NCCL alone, and a machine without it.

use crate::engines::{Engine as _, Nccl, failed, opened};
use crate::support::Result;
use binade_cuda::{Communicator, Cuda};
use std::time::Duration;

crate::tests![one_device_is_one_rank, a_rank_that_does_not_come_is_waited_for_as_long_as_patience];

pub(crate) const ABSENT: &[crate::shared::Test] =
    &[("a_missing_library_is_told_by_its_names", a_missing_library_is_told_by_its_names)];

fn one_device_is_one_rank() -> Result {
    let devices = [0, 0].map(|number| Cuda::open(number).unwrap());
    for error in Nccl::connect(devices.into(), Duration::from_mins(2), failed) {
        assert!(error.contains("nccl: NCCL says invalid usage"), "{error}");
        assert!(error.contains("uplicate GPU"), "{error}");
    }
    Ok(())
}

fn a_rank_that_does_not_come_is_waited_for_as_long_as_patience() -> Result {
    let (id, cuda) = (Communicator::nccl_id()?, opened(1).remove(0));
    let error = failed(Communicator::nccl(&cuda, id, [0, 2], Duration::from_millis(50)));
    let told =
        "nccl: some of 2 ranks did not come within 50ms: they have stalled, or make other calls";
    assert!(error.starts_with(told), "{error}");
    Ok(())
}

fn a_missing_library_is_told_by_its_names() -> Result {
    let error = failed(Communicator::nccl_id());
    let told = "no NCCL: looked for libnccl.so.2, libnccl.so; install NVIDIA's package `libnccl2`";
    assert!(error.starts_with(told), "{error}");
    Ok(())
}
