//! Edges of launches: odd lengths, thousands of tiny tensors, empty ones among full ones.

use crate::{
    casts::narrow,
    support::{Grads, Result, noise, own, vector},
};
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

/// Chunks have 8192 elements beyond 16 Mi, and only then does a thread read several groups ahead, in `f32` in two turns. The tail of
/// `f32` is a whole group, which ends the chunk.
fn sums_read_all_of_chunks_of_four_groups_a_thread() -> Result {
    let cuda = own();
    let scale = cuda.upload_state(ScaleState::from_exponent(0))?;
    for (dtype, tail) in [(DType::BF16, 8193), (DType::F16, 8193), (DType::F32, 4104)] {
        // A number in each of a thread's groups in turn, so that each lane of the last block adds one up; the largest in front of all
        // others of a thread and in a warp's last lane, so that a minimum in a maximum's place loses it.
        let mut values = vec![0.0; (1 << 24) + tail];
        for (chunk, value) in values.chunks_exact_mut(8192).take(256).enumerate() {
            value[[0, 2055, 4103, 6151][chunk % 4]] = [2.0, 3.0, 5.0][chunk % 3];
        }
        (values[8192 * 31], values[(1 << 24) + tail - 1]) = (41.0, 7.0);
        let squares: f64 = values.iter().map(|x| f64::from(x * x)).sum();
        let norm = narrow(squares.sqrt());
        let tensor = vector(&cuda, &values, dtype);
        let got = cuda.l2_norm(std::slice::from_ref(&tensor))?;
        assert_eq!(cuda.to_bits(&got)?, norm.to_le_bytes(), "{dtype:?}");
        let mut grads = Grads::<Cuda>::from(vec![Named::new("w", Some(tensor))]);
        let mut found = cuda.unscale(&mut grads, &scale)?;
        for (kind, want) in [(Norm::L2, norm), (Norm::Infinity, 41.0)] {
            cuda.clip_groups(&mut grads, &[ClipGroup::new(["w"], kind, 1e3)], &mut found)?;
            cuda.clip_norm(&mut grads, kind, 1e3, &mut found)?;
            let finding = cuda.read(&[&found], &scale)?.0.remove(0);
            assert_eq!((finding.magnitude, finding.norm), (41.0, Some(want)), "{dtype:?}");
        }
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
