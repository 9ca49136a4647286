//! Edges of launches: odd lengths, thousands of tiny tensors, empty ones among full ones.

use crate::support::{Grads, Result, noise, own, vector};
use binade_core::{DType, Named};
use binade_cuda::Cuda;
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![
    ten_thousand_tiny_tensors_take_one_launch,
    sums_read_all_of_chunks_of_four_groups_a_thread,
    tables_are_uploaded_only_when_an_address_has_changed,
];

fn ten_thousand_tiny_tensors_take_one_launch() -> Result {
    let cuda = own();
    let all = vector(&cuda, &noise(4, 30_000), DType::F32);
    let mut entries = Vec::new();
    for number in 0..10_000 {
        entries.push(Named::new(number.to_string(), Some(all.slice(3 * number, 1 + number % 3)?)));
    }
    let mut grads = Grads::<Cuda>::from(entries);
    let scale = cuda.upload_state(ScaleState::from_exponent(5))?;
    let before = cuda.counters();
    let found = cuda.unscale(&mut grads, &scale)?;
    assert_eq!(cuda.counters().launches - before.launches, 1);
    let finding = cuda.read(&[&found], &scale)?.0.remove(0);
    assert!(finding.overflow.is_none() && finding.magnitude > 0.99);
    Ok(())
}

/// Chunks grow beyond 16 Mi elements, and only then has a thread four groups to read ahead.
fn sums_read_all_of_chunks_of_four_groups_a_thread() -> Result {
    let cuda = own();
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    // One element, in turn in each of a thread's groups, is all that there is but for the last, which ends a group that is not whole.
    let (len, group) = ((1 << 24) + 8193, 2048);
    for (turn, dtype) in [DType::BF16, DType::F16, DType::BF16, DType::F16].into_iter().enumerate()
    {
        let mut values = vec![0.0; len];
        (values[8192 * 5 + group * turn + 7], values[len - 1]) = (3.0, 4.0);
        let tensor = vector(&cuda, &values, dtype);
        let norm = cuda.l2_norm(std::slice::from_ref(&tensor))?;
        assert_eq!(cuda.to_bits(&norm)?, 5.0_f32.to_le_bytes(), "{dtype:?} {turn}");
        let mut grads = Grads::<Cuda>::from(vec![Named::new("w", Some(tensor))]);
        let mut found = cuda.unscale(&mut grads, &scale)?;
        cuda.clip_groups(&mut grads, &[ClipGroup::new(["w"], Norm::L2, 10.0)], &mut found)?;
        cuda.clip_norm(&mut grads, Norm::L2, 10.0, &mut found)?;
        let finding = cuda.read(&[&found], &scale)?.0.remove(0);
        assert_eq!((finding.magnitude, finding.norm), (4.0, Some(5.0)), "{dtype:?} {turn}");
    }
    Ok(())
}

fn tables_are_uploaded_only_when_an_address_has_changed() -> Result {
    let cuda = own();
    let mut params = vec![Named::new("w", vector(&cuda, &noise(1, 100), DType::F16))];
    let mut masters = cuda.masters(&mut params, &OptimizerConfig::new(UpdateRule::adamw(1e-2))?)?;
    let grads =
        Grads::<Cuda>::from(vec![Named::new("w", Some(vector(&cuda, &noise(2, 100), DType::F16)))]);
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    let mut step = || -> Result {
        let mut grads = grads.clone();
        let found = cuda.unscale(&mut grads, &scale)?;
        Ok(cuda.step(&mut params, &mut masters, grads, &found)?)
    };
    step()?;
    let before = cuda.counters();
    for _ in 0..10 {
        step()?;
    }
    assert_eq!(cuda.counters().tables, before.tables);
    Ok(())
}
