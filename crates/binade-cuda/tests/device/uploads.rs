//! Uploads by way of pinned memory, while the device is behind.

use crate::captures::why;
use crate::support::{Grads, Result, noise, own, vector, warmed};
use binade_core::ops::{Add, Download};
use binade_core::{DType, Named};
use binade_cuda::{CaptureError, Cuda, Error};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![
    a_loop_that_feeds_64_mb_a_step_waits_for_no_copy,
    a_prefetched_batch_is_there_for_the_work_behind_it,
    prefetched_elements_are_rounded_once_and_indices_keep_their_bits,
    a_prefetched_batch_that_is_dropped_harms_nobody,
    a_captured_run_prefetches_nothing,
];

/// Tests of a device that is behind the host for certain.
pub(crate) const BEHIND: &[crate::shared::Test] = &[(
    "copies_beyond_256_mib_wait_for_the_oldest_and_are_counted",
    copies_beyond_256_mib_wait_for_the_oldest_and_are_counted,
)];

/// Elements of a batch of 64 MiB: 16 copies of 4 MiB.
const BATCH: usize = 16 << 20;

/// Returns true if events come so late, on an interpreter that is told to, that a copy for which the host waits shows.
pub(crate) fn is_behind() -> bool {
    std::env::var("BINADE_PTX_LAG").is_ok_and(|lag| lag.parse().is_ok_and(|lag: u32| lag > 1000))
}

/// Writes one batch after another and returns how often the host has waited by the end. No event from before a batch has come once it is written.
fn feed(cuda: &Cuda, batches: u8, mut step: impl FnMut() -> Result) -> Result<u64> {
    let batch = vector(cuda, &vec![0.0; BATCH], DType::F32);
    cuda.synchronize()?;
    let mut values = vec![0.0_f32; BATCH];
    for number in 0..batches {
        (values[0], values[BATCH - 1]) = (f32::from(number), -f32::from(number));
        let before = cuda.stream().record_event(None)?;
        cuda.write(&batch, &values)?;
        assert!(!(is_behind() && before.is_complete()), "the host waited for batch {number}");
        step()?;
    }
    let syncs = cuda.counters().syncs;
    for place in [0, BATCH - 1] {
        let got = cuda.to_bits(&batch.slice(place, 1)?)?;
        assert_eq!(got, values[place].to_le_bytes());
    }
    Ok(syncs)
}

fn a_loop_that_feeds_64_mb_a_step_waits_for_no_copy() -> Result {
    let cuda = own();
    let mut params = vec![Named::new("w", vector(&cuda, &noise(1, 100), DType::F16))];
    let mut masters = cuda.masters(&mut params, &OptimizerConfig::new(UpdateRule::adamw(1e-2))?)?;
    let grad = Named::new("w", Some(vector(&cuda, &noise(2, 100), DType::F16)));
    let grads = Grads::<Cuda>::from(vec![grad]);
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    let before = cuda.counters().syncs;
    let after = feed(&cuda, 3, || {
        let mut grads = grads.clone();
        let found = cuda.unscale(&mut grads, &scale)?;
        Ok(cuda.step(&mut params, &mut masters, grads, &found)?)
    })?;
    // One is that of `feed` before the first batch.
    assert_eq!(after - before, 1);
    Ok(())
}

fn copies_beyond_256_mib_wait_for_the_oldest_and_are_counted() -> Result {
    let cuda = own();
    let before = cuda.counters().syncs;
    let batch = vector(&cuda, &vec![0.0; BATCH], DType::F32);
    for _ in 0..3 {
        cuda.write(&batch, &vec![1.0; BATCH])?;
    }
    assert_eq!(cuda.counters().syncs, before);
    cuda.write(&batch.slice(0, BATCH / 16)?, &vec![2.0; BATCH / 16])?;
    assert_eq!(cuda.counters().syncs, before + 1);
    Ok(())
}

/// Returns values of a batch that no other has.
fn batch(number: u8) -> Vec<f32> {
    let first = f32::from(number) * 1000.0;
    (0_u16..1000).map(|i| first + f32::from(i)).collect()
}

fn a_prefetched_batch_is_there_for_the_work_behind_it() -> Result {
    let cuda = own();
    let mut next = cuda.prefetch(&batch(0), &[10, 100], DType::F32)?;
    let before = cuda.counters().syncs;
    let mut doubled = Vec::new();
    for number in 1..5 {
        let x =
            std::mem::replace(&mut next, cuda.prefetch(&batch(number), &[10, 100], DType::F32)?);
        let x = x.tensor()?;
        doubled.push(cuda.add(&x, &x)?);
    }
    drop(next);
    assert_eq!(cuda.counters().syncs, before, "nothing waits");
    for (number, sum) in (0..).zip(&doubled) {
        let want: Vec<f32> = batch(number).iter().map(|x| x + x).collect();
        assert_eq!(cuda.download(sum)?, want, "batch {number}");
    }
    Ok(())
}

fn prefetched_elements_are_rounded_once_and_indices_keep_their_bits() -> Result {
    let cuda = own();
    let (values, labels) = (noise(3, 100), [3_i64, -1, 7].map(i64::to_le_bytes).concat());
    let halves = cuda.prefetch(&values, &[100], DType::F16)?;
    let indices = cuda.prefetch_bits(&labels, DType::I64, &[3])?;
    assert_eq!(cuda.to_bits(&indices.tensor()?)?, labels);
    let halves = halves.tensor()?;
    assert_eq!(halves.dtype(), DType::F16);
    assert!(cuda.to_bits(&halves)? == cuda.to_bits(&vector(&cuda, &values, DType::F16))?);
    let short = cuda.prefetch(&values, &[99], DType::F16);
    assert!(matches!(short, Err(Error::Length { .. })), "{short:?}");
    Ok(())
}

/// Memory of a batch that nobody took is used again only behind its upload.
fn a_prefetched_batch_that_is_dropped_harms_nobody() -> Result {
    let cuda = own();
    let ones = vector(&cuda, &[1.0; 1000], DType::F32);
    drop(cuda.prefetch(&batch(1), &[1000], DType::F32)?);
    let sum = cuda.add(&ones, &ones)?;
    cuda.synchronize()?;
    assert_eq!(cuda.download(&sum)?, [2.0; 1000]);
    Ok(())
}

fn a_captured_run_prefetches_nothing() -> Result {
    let cuda = own();
    let x = vector(&cuda, &noise(1, 100), DType::F32);
    let step = || cuda.add(&x, &x).map(drop);
    let capture = warmed(&cuda, step)?;
    let values = noise(2, 100);
    let (operation, why) =
        why(capture.capture(|| cuda.prefetch(&values, &[100], DType::F32).map(drop)));
    assert_eq!((operation, why), ("prefetch", CaptureError::Upload { bytes: 400 }));
    Ok(())
}
