//! Scaled losses on drivers that flush subnormals, and outcomes that are ready without waiting.

use crate::support::{Device, Result, assert_same, mixed, own, set, vector, wgpu};
use binade_core::DType;
use binade_core::ops::{Embedding, Upload};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, GradScaler, Loss, LossScale, Norm, ScaleState, ScaleStore};

crate::tests![
    a_scaled_loss_is_a_product_and_a_lone_gradient_a_quotient,
    nothing_waits_until_an_outcome_is_read,
    an_outcome_of_indices_or_a_window_that_is_ready_is_read_without_waiting,
    an_index_beyond_a_table_without_width_is_told,
];

fn a_scaled_loss_is_a_product_and_a_lone_gradient_a_quotient() -> Result {
    let states = [ScaleState::from_exponent(16), ScaleState::from_exponent(-20)];
    let odd = ScaleState::import(3.0e4).ok_or("not a scale")?;
    for state in states.into_iter().chain([odd]) {
        for dtype in crate::support::TYPES {
            // The values include subnormal and huge ones, and small ones that lose any number of bits.
            let small = (-149..-90).map(|binade| 1.37 * 2.0_f32.powi(binade)).collect();
            let values = [mixed(6, 500), small, vec![1e-45, -3e-40, 1.1e-38, 3e38]].concat();
            let [got, want] = both(&values, state, dtype)?;
            for (got, want) in got.iter().zip(&want) {
                assert_same(got, want, DType::F32, &format!("{dtype} {state:?}"));
            }
        }
    }
    Ok(())
}

/// Bits of a scaled and of an unscaled tensor, on the device and on the CPU: by the factors of a state from the host, and by those of an update that
/// does not change the scale.
fn both(values: &[f32], state: ScaleState, dtype: DType) -> Result<[[Vec<u8>; 4]; 2]> {
    fn one<D: Device>(device: &D, values: &[f32], state: ScaleState, dtype: DType) -> [Vec<u8>; 4] {
        let (uploaded, x) = (device.upload_state(state).unwrap(), vector(device, values, dtype));
        let mut updated = device.upload_state(state).unwrap();
        device.update(&mut updated, &[], &[], &LossScale::dynamic()).unwrap();
        let [a, b] = [&uploaded, &updated].map(|by| (x.scaled(device, by), x.unscaled(device, by)));
        [a.0, a.1, b.0, b.1].map(|result| device.bits(&result.unwrap()))
    }
    Ok([one(&wgpu(), values, state, dtype), one(&Cpu, values, state, dtype)])
}

fn nothing_waits_until_an_outcome_is_read() -> Result {
    let wgpu = own();
    let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
    let mut grads = set(&wgpu, &[("w", Some(vec![1.0; 100]))], DType::F16);
    let mut found = wgpu.unscale(&mut grads, &scale)?;
    wgpu.clip_norm(&mut grads, Norm::L2, 1.0, &mut found)?;
    wgpu.update(&mut scale, &[&found], &[&found], &LossScale::dynamic())?;
    assert_eq!(wgpu.counters().syncs, 0);
    while !wgpu.is_ready(&[&found], &scale)? {
        std::thread::yield_now();
    }
    let (findings, state) = wgpu.read(&[&found], &scale)?;
    assert_eq!((state.updates, findings[0].is_raised()), (1, false));
    assert_eq!(wgpu.counters().syncs, 0, "it was there");
    let again = wgpu.read(&[&found], &scale)?;
    assert_eq!(format!("{:?}", again.0), format!("{findings:?}"));
    Ok(())
}

/// Reports after an operation with indices, whose record comes with each, and of a window, whose presence of each gradient is a report
/// of its own.
fn an_outcome_of_indices_or_a_window_that_is_ready_is_read_without_waiting() -> Result {
    for is_window in [false, true] {
        let wgpu = own();
        let mut scale = wgpu.upload_state(ScaleState::from_exponent(10))?;
        let mut grads = set(&wgpu, &[("w", Some(vec![1.0; 100]))], DType::F16);
        let mut found = wgpu.unscale(&mut grads, &scale)?;
        if is_window {
            let mut sum = wgpu.accumulate(None, grads, &found)?;
            found = wgpu.unscale(&mut sum, &wgpu.upload_state(ScaleState::from_exponent(0))?)?;
        } else {
            let table = wgpu.upload(&[1.0, 2.0], &[2, 1], DType::F32)?;
            wgpu.embedding(&table, &wgpu.upload_i64(&[1], &[1])?)?;
        }
        wgpu.update(&mut scale, &[&found], &[&found], &LossScale::dynamic())?;
        let before = wgpu.counters().syncs;
        while !wgpu.is_ready(&[&found], &scale)? {
            std::thread::yield_now();
        }
        assert_eq!(wgpu.read(&[&found], &scale)?.1.updates, 1);
        assert_eq!(wgpu.counters().syncs, before, "it was there");
    }
    Ok(())
}

fn an_index_beyond_a_table_without_width_is_told() -> Result {
    let wgpu = own();
    let (table, indices) =
        (wgpu.upload(&[], &[3, 0], DType::F16)?, wgpu.upload_i64(&[2, 3], &[2])?);
    wgpu.embedding(&table, &indices)?;
    let told = wgpu.to_bits(&indices).unwrap_err().to_string();
    assert_eq!(told, "embedding: index 3 at position 1; expected 0 ≤ index < 3");
    Ok(())
}
