//! Ranks that copy from each other's devices, where they differ from those of NCCL.

use crate::engines::{Peers, Run, backward, each, failed, opened};
use crate::support::Result;
use binade_core::ops::{Download as _, Upload as _};
use binade_core::{DType, GradSet as _, Named};
use binade_cuda::{CaptureError, Communicator, CudaError, CudaRank, Error, RankGradients};
use binade_grad_scaler::{GradScaler as _, ScaleState, ScaleStore as _};
use std::time::Duration;

crate::tests![
    streams_wait_for_all_ranks_before_and_after_each_call,
    an_average_is_looked_at_and_not_averaged_again,
    a_capture_of_several_ranks_is_refused_and_ranks_go_on,
    a_rank_that_stalls_is_named_after_patience,
    zeros_are_sent_for_what_fills_its_memory,
];

/// Waits are counted: one that is left out shows on no device whose work is fast enough, and in no bits of the interpreter's.
fn streams_wait_for_all_ranks_before_and_after_each_call() -> Result {
    for ranks in [1, 2, 3] {
        let got = each::<Peers, _>(ranks, |device| {
            let mut run = Run::new(&device, 99);
            let mut step = |number| {
                let grads = backward(&device, number, device.communicator().rank());
                drop(run.step(grads).unwrap().resolve().unwrap());
                device.cuda().counters().meetings
            };
            let before = step(0);
            step(1) - before
        });
        // A header, gradients and averages: before and after each, for each of the others.
        assert_eq!(got, vec![3 * 2 * (ranks as u64 - 1); ranks]);
    }
    Ok(())
}

fn an_average_is_looked_at_and_not_averaged_again() -> Result {
    each::<Peers, _>(2, |device| {
        let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        let mut grads = RankGradients::from(backward(&device, 0, device.communicator().rank()));
        let bits = |grads: &RankGradients| {
            let set = device.materialise(grads.clone()).unwrap().into_iter();
            set.map(|grad| device.cuda().to_bits(&grad.value.unwrap()).unwrap()).collect::<Vec<_>>()
        };
        device.unscale(&mut grads, &scale).unwrap();
        let first = bits(&grads);
        device.unscale(&mut grads, &scale).unwrap();
        assert!(bits(&grads) == first);
    });
    Ok(())
}

fn a_capture_of_several_ranks_is_refused_and_ranks_go_on() -> Result {
    let got = each::<Peers, _>(2, |device| {
        let rank = device.communicator().rank();
        let mut run = Run::new(&device, 99);
        run.step(backward(&device, 0, rank)).unwrap().ignore();
        let grads = backward(&device, 1, rank);
        let refused = device.cuda().capture().warm_up(|| run.step(grads.clone()).map(drop)).err();
        let why = CaptureError::Peers;
        let call = "all_gather";
        assert_eq!(refused, Some(Error::Driver(CudaError::Capture { operation: call, why })));
        drop(run.step(grads).unwrap().resolve().unwrap());
        run.saved()
    });
    assert!(got[0] == got[1]);
    Ok(())
}

fn a_rank_that_stalls_is_named_after_patience() -> Result {
    let patience = Duration::from_millis(50);
    let ranks = Communicator::peers(opened(3), patience);
    let devices: Vec<_> = ranks.into_iter().map(|rank| CudaRank::new(rank).unwrap()).collect();
    // Ranks 0 and 2 make no call, and are there all the same.
    let mut own = RankGradients::from(backward(&devices[1], 0, 1));
    let scale = devices[1].upload_state(ScaleState::from_exponent(0))?;
    let error = devices[1].unscale(&mut own, &scale).unwrap_err();
    let missing = vec![0, 2];
    let late = CudaError::RankTimeout { call: "all_gather", ranks: 3, missing, patience };
    assert_eq!(error, Error::Driver(late));
    let told = "all_gather: ranks [0, 2] of 3 did not come within 50ms";
    assert!(error.to_string().starts_with(told), "{error}");
    for device in devices {
        let mut own = RankGradients::from(backward(device.cuda(), 0, 0));
        let scale = device.cuda().upload_state(ScaleState::from_exponent(0))?;
        assert_eq!(failed(device.unscale(&mut own, &scale)), error.to_string());
    }
    Ok(())
}

/// A vector without gaps is not filled with zeros, unless something is missing.
fn zeros_are_sent_for_what_fills_its_memory() -> Result {
    let got = each::<Peers, _>(2, |device| {
        let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        let mut last = Vec::new();
        for lacks in [false, true] {
            let one = device.upload(&[2.0; 64], &[64], DType::F32).unwrap();
            let has = !lacks || device.communicator().rank() == 1;
            let set = vec![Named::new("a", has.then(|| one.clone())), Named::new("b", Some(one))];
            let mut grads = RankGradients::from(set);
            device.unscale(&mut grads, &scale).unwrap();
            let set = device.materialise(grads).unwrap();
            last = device.download(set[0].value.as_ref().unwrap()).unwrap();
        }
        last
    });
    assert_eq!(got, [vec![1.0; 64], vec![1.0; 64]]);
    Ok(())
}
