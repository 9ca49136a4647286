//! Uploads by way of pinned memory, while the device is behind.

use crate::support::{Grads, Result, noise, own, vector};
use binade_core::{DType, Named};
use binade_cuda::Cuda;
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![a_loop_that_feeds_64_mb_a_step_waits_for_no_copy];

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
