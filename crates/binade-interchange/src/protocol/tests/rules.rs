//! Rules of torch, with one fact in each test. The recorded traces cover the others.

use super::super::Verdict;
use super::*;
use half::bf16;

#[test]
fn torchs_own_update_table_holds() {
    let config =
        StateDict { scale: 4.0, backoff_factor: 0.25, growth_interval: 2, ..Default::default() };
    let mut scaler = ProtocolScaler::new(config).unwrap();
    scaler.scale(1.0_f32).unwrap();
    let table = [(1.0, 4.0, 1), (1.0, 8.0, 0), (f32::INFINITY, 2.0, 0), (f32::NAN, 0.5, 0)];
    for (grad, scale, tracker) in table {
        let _ = iterate(&mut scaler, grad);
        assert_eq!((scaler.current(), scaler.state_dict().growth_tracker), (Some(scale), tracker));
    }
}

#[test]
fn factors_multiply_in_f64() {
    let mut scaler = scaler(0.1, 1);
    scaler.config.growth_factor = 1.1;
    let _ = iterate(&mut scaler, 1.0);
    assert_eq!(scaler.get_scale(), 0.10999999940395355); // f32 times f32 gives 0.11000000685453415
}

#[test]
fn the_reciprocal_is_rounded_once_and_bf16_gradients_through_f32() {
    let mut scaler = scaler(3.0, 2000);
    let mut grad = [bf16::from_f32(10.0)];
    scaler.unscale(SGD, &mut [Some(&mut grad[..])]).unwrap();
    assert_eq!(grad, [bf16::from_f32(10.0 * (1.0_f32 / 3.0))]);
}

#[test]
fn a_raised_flag_always_skips() {
    for flag in [0.0, -0.0, 1.0, 2.0, -1.0, 1e-45, f32::INFINITY, f32::NAN] {
        let verdict = scaler(4.0, 2000).step_with(SGD, |_| Ok(Some(flag)));
        assert_eq!(verdict == Ok(Verdict::Skip), flag != 0.0, "{flag}");
    }
}
