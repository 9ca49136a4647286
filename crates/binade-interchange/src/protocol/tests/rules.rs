//! Rules of torch's, one fact a test.

use super::super::{NewScale, Stage, Verdict};
use super::*;
use half::{bf16, f16};

#[test]
fn torchs_own_update_table_holds() {
    let config = ProtocolConfig {
        init_scale: 4.0,
        backoff_factor: 0.25,
        growth_interval: 2,
        ..Default::default()
    };
    let mut scaler = ProtocolScaler::new(config).unwrap();
    scaler.scale(1.0_f32).unwrap();
    let table = [(1.0, 4.0, 1), (1.0, 8.0, 0), (f32::INFINITY, 2.0, 0), (f32::NAN, 0.5, 0)];
    for (grad, scale, tracker) in table {
        let _ = iterate(&mut scaler, grad);
        assert_eq!((scaler.current(), scaler.growth_tracker()), (Some(scale), tracker));
    }
}

#[test]
fn growth_past_f32_keeps_the_scale_and_resets_the_tracker() {
    let mut scaler = scaler(1e38, 1);
    scaler.config_mut().growth_factor = 16.0;
    let _ = iterate(&mut scaler, 1.0);
    assert_eq!((scaler.current(), scaler.growth_tracker()), (Some(1e38), 0));
}

#[test]
fn factors_multiply_in_f64() {
    let mut scaler = scaler(0.1, 1);
    scaler.config_mut().growth_factor = 1.1;
    let _ = iterate(&mut scaler, 1.0);
    assert_eq!(scaler.get_scale(), 0.10999999940395355); // f32 times f32 gives 0.11000000685453415
}

#[test]
fn an_interval_lowered_below_the_tracker_never_grows() {
    let mut scaler = scaler(1.0, 9);
    for _ in 0..4 {
        let _ = iterate(&mut scaler, 1.0);
    }
    scaler.config_mut().growth_interval = 3;
    for _ in 0..9 {
        let _ = iterate(&mut scaler, 1.0);
    }
    assert_eq!((scaler.current(), scaler.growth_tracker()), (Some(1.0), 13));
}

#[test]
fn a_scale_of_zero_is_kept_and_ruins_gradients_in_silence() {
    let mut scaler = scaler(0.0, 2000);
    let mut grad = [1.0, 0.0];
    assert_eq!(scaler.step(SGD, &mut [Some(&mut grad[..])]), Ok(Verdict::Apply));
    assert!(grad[0] == f32::INFINITY && grad[1].is_nan(), "{grad:?}");
}

#[test]
fn the_check_comes_before_the_multiplication() {
    let mut scaler = scaler(0.25, 2000);
    let mut grad = [3e38_f32];
    assert_eq!(scaler.unscale(SGD, &mut [Some(&mut grad[..])]), Ok(false));
    assert_eq!(grad, [f32::INFINITY]);
}

#[test]
fn gradients_of_a_skipped_step_are_unscaled_all_the_same() {
    let mut scaler = scaler(4.0, 2000);
    let mut grad = [8.0, f32::INFINITY];
    assert_eq!(scaler.step(SGD, &mut [None, Some(&mut grad[..])]), Ok(Verdict::Skip));
    assert_eq!(grad, [2.0, f32::INFINITY]);
}

#[test]
fn the_reciprocal_is_rounded_once_and_bf16_gradients_through_f32() {
    let mut scaler = scaler(3.0, 2000);
    let mut grad = [bf16::from_f32(10.0)];
    scaler.unscale(SGD, &mut [Some(&mut grad[..])]).unwrap();
    assert_eq!(grad, [bf16::from_f32(10.0 * (1.0_f32 / 3.0))]);
}

#[test]
fn one_overflow_backs_off_once_and_skips_only_its_own_optimizer() {
    let mut scaler = scaler(8.0, 2000);
    assert_eq!(scaler.step(SGD, &mut [Some(&mut [f32::NAN][..])]), Ok(Verdict::Skip));
    assert_eq!(scaler.step(ADAM, &mut [Some(&mut [1.0_f32][..])]), Ok(Verdict::Apply));
    scaler.update().unwrap();
    assert_eq!(scaler.current(), Some(4.0));
}

#[test]
fn any_raised_flag_skips() {
    for flag in [1.0, 2.0, 7.0, -1.0, f32::MIN_POSITIVE, f32::INFINITY, f32::NAN] {
        let mut scaler = scaler(8.0, 2000);
        assert_eq!(scaler.step_with(SGD, |_| Ok(Some(flag))), Ok(Verdict::Skip), "{flag}");
        scaler.update().unwrap();
        assert_eq!(scaler.current(), Some(4.0), "{flag}");
    }
}

#[test]
fn a_new_scale_keeps_the_tracker_and_forgets_the_verdict() {
    let mut scaler = scaler(8.0, 2000);
    let _ = iterate(&mut scaler, 1.0);
    scaler.unscale(SGD, &mut [Some(&mut [f32::NAN][..])]).unwrap();
    scaler.set_scale(NewScale::Float(3.0)).unwrap();
    assert_eq!((scaler.current(), scaler.growth_tracker()), (Some(3.0), 1));
    assert_eq!((scaler.stage(SGD), scaler.found(SGD)), (Stage::Ready, None));
}

#[test]
fn any_float_is_a_new_scale() {
    let mut scaler = scaler(8.0, 2000);
    for value in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -2.0, 1e-45] {
        scaler.set_scale(NewScale::Float(value.into())).unwrap();
        assert_eq!(scaler.current(), Some(value));
    }
    scaler.set_scale(NewScale::Tensor(f32::NAN)).unwrap();
    assert!(scaler.get_scale().is_nan());
}

#[test]
fn a_loss_without_dimensions_leaves_f16_and_an_output_with_dimensions_does_not() {
    let mut scaler = scaler(65536.0, 2000);
    assert_eq!(scaler.scale(f16::from_f32(2.0)), Ok(131072.0));
    assert_eq!(scaler.scale_f64(2.0), Ok(131072.0));
    let mut outputs = [f16::from_f32(2.0)];
    scaler.scale_slice(&mut outputs).unwrap();
    assert_eq!(outputs, [f16::INFINITY]);
}

#[test]
fn an_optimizer_without_gradients_is_wedged_until_the_scale_is_set() {
    let mut scaler = scaler(8.0, 2000);
    let none: &mut [Option<&mut [f32]>] = &mut [None, None];
    assert_eq!(scaler.unscale(SGD, none), Ok(false));
    assert!(scaler.step(SGD, none).is_err());
    assert!(scaler.update().is_err());
    assert!(scaler.unscale(SGD, &mut [Some(&mut [1.0_f32][..])]).is_err());
    scaler.set_scale(NewScale::Float(8.0)).unwrap();
    assert_eq!(iterate(&mut scaler, 1.0), Verdict::Apply);
}

#[test]
fn an_empty_gradient_is_a_gradient() {
    let mut scaler = scaler(8.0, 2000);
    let empty: &mut [f32] = &mut [];
    assert_eq!(scaler.step(SGD, &mut [Some(empty)]), Ok(Verdict::Apply));
}

#[test]
fn a_state_comes_back_before_and_after_the_first_use() {
    let mut saved = scaler(3.0, 2);
    let _ = iterate(&mut saved, 1.0);
    let mut fresh = ProtocolScaler::new(ProtocolConfig::default()).unwrap();
    let mut used = scaler(6.0, 1);
    for other in [&mut fresh, &mut used] {
        other.load_state_dict(&saved.state_dict()).unwrap();
        assert_eq!(other.state_dict(), saved.state_dict());
        assert_eq!(other.scale(1.0_f32), Ok(3.0));
        assert_eq!(other.growth_tracker(), 1);
    }
}

#[test]
fn the_config_in_force_can_be_read() {
    let config = ProtocolConfig { init_scale: 4.0, growth_interval: 7, ..Default::default() };
    assert_eq!(*scaler(4.0, 7).config(), config);
}

#[test]
fn two_gradients_that_are_not_finite_raise_one_flag() {
    let mut scaler = scaler(4.0, 2000);
    let (mut nan, mut infinite) = ([f32::NAN], [f32::INFINITY, 1.0]);
    let raised = scaler.unscale(SGD, &mut [Some(&mut nan[..]), Some(&mut infinite[..])]);
    assert_eq!((raised, scaler.found(SGD)), (Ok(true), Some(1.0)));
}
