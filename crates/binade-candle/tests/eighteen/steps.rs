//! Cases 6, 7, 8, 14 and 17: what a step may do, and when it must not.

use super::{ALL, Result, optimizer, saved, set, step, tensor, values, var};
use binade::prelude::*;
use binade_candle::{Candle, Wrapped};
use candle_core::DType as Type;
use candle_nn::{AdamW, ParamsAdamW};

#[test]
fn an_overflow_leaves_parameters_moments_count_and_decay_as_they_are_bit_for_bit() -> Result {
    for dtype in ALL {
        let mut optimizer = optimizer(
            vec![var("a", &[1.0, 2.0], dtype)?, var("b", &[3.0], dtype)?],
            UpdateRule::adamw(1e-2),
        )?;
        let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
        step(&mut scaler, &mut optimizer, set(&[("a", &[1.0, 2.0]), ("b", &[3.0])], dtype)?)?
            .into_applied()?;
        let before = saved(&optimizer)?;
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let grads = set(&[("a", &[1.0, 1.0]), ("b", &[bad])], dtype)?;
            let Step::Skipped(report) = step(&mut scaler, &mut optimizer, grads)? else {
                return Err(format!("{bad} was applied").into());
            };
            assert_eq!(report.overflow().map(|found| &*found.parameter), Some("b"));
            assert_eq!(saved(&optimizer)?, before, "{dtype:?}");
        }
    }
    Ok(())
}

#[test]
fn a_scale_below_one_that_unscales_to_infinity_is_a_skip_fused_and_wrapped() -> Result {
    let rule = LossScale::dynamic().with_init_scale(2_f32.powi(-20))?;
    let mut scaler = Scaler::new(Candle, rule)?;
    let mut fused = optimizer(vec![var("w", &[1.0], Type::F32)?], UpdateRule::sgd(0.1))?;
    let theirs = var("w", &[1.0], Type::F32)?;
    let config = ParamsAdamW::default();
    let mut wrapped = Wrapped::<AdamW>::new(std::slice::from_ref(&theirs), config)?;

    let finite = || set(&[("w", &[1e36])], Type::F32);
    let fused_step = step(&mut scaler, &mut fused, finite()?)?;
    scaler.set_state(rule.start())?;
    let wrapped_step = step(&mut scaler, &mut wrapped, finite()?)?;
    for step in [fused_step, wrapped_step] {
        let overflow = step.report().overflow().ok_or("no overflow was told")?;
        assert!(!step.is_applied() && overflow.scaled.is_finite());
        assert_eq!(overflow.unscaled, f32::INFINITY);
    }
    assert_eq!(values(&fused.params[0].value)?, [1.0]);
    assert_eq!(values(&theirs.value)?, [1.0]);
    Ok(())
}

#[test]
fn in_10_000_updates_the_scale_is_never_0_infinite_or_out_of_its_bounds() -> Result {
    let rule = LossScale::dynamic().with_growth_interval(3)?;
    let mut scaler = Scaler::new(Candle, rule)?;
    let mut optimizer = optimizer(vec![var("w", &[1.0], Type::F16)?], UpdateRule::sgd(1e-6))?;
    let (mut state, mut lowest, mut highest) = (1_u64, f32::INFINITY, 0.0_f32);
    for update in 0..10_000_u32 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Long stretches of rare overflow, then of overflow at most steps.
        let odds = if update % 200 < 150 { 1 } else { 200 };
        let bad = state >> 56 < odds;
        let grad = if bad { f32::INFINITY } else { 1.0 };
        let step = step(&mut scaler, &mut optimizer, set(&[("w", &[grad])], Type::F16)?)?;
        let scale = step.report().scale.factor();
        assert!((1.0..=16_777_216.0).contains(&scale) && scale.log2().fract() == 0.0, "{scale}");
        (lowest, highest) = (lowest.min(scale), highest.max(scale));
        if matches!(step, Step::Diverged(_)) {
            scaler.set_state(rule.start())?;
        }
    }
    assert_eq!((lowest, highest), (1.0, 16_777_216.0), "both bounds were met");
    Ok(())
}

#[test]
fn one_of_two_optimizers_without_gradients_is_an_error_and_the_other_steps() -> Result {
    let mut here = optimizer(vec![var("a", &[1.0], Type::F16)?], UpdateRule::sgd(1.0))?;
    let mut none = optimizer(vec![var("b", &[1.0], Type::F16)?], UpdateRule::sgd(1.0))?;
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let loss = tensor(&[1.0], Type::F32)?;
    let missing = vec![Named::new("b", None)];
    let grads = scaler.scale(&loss)?.backward(|_| Ok(missing))?.unscale()?;
    let error = grads.step(&mut none).err().ok_or("a step without gradients was taken")?;
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("no gradient came for any of 1 parameters"), "{error}");

    step(&mut scaler, &mut here, set(&[("a", &[0.5])], Type::F16)?)?.into_applied()?;
    assert_eq!(values(&here.params[0].value)?, [0.5]);
    assert_eq!(values(&none.params[0].value)?, [1.0]);
    Ok(())
}

#[test]
fn a_nan_in_a_bf16_run_is_reported_though_the_scale_is_1() -> Result {
    let mut scaler = Scaler::new(Candle, LossScale::none())?;
    let mut optimizer = optimizer(vec![var("w", &[1.0, 2.0], Type::BF16)?], UpdateRule::adam(0.1))?;
    let grads = set(&[("w", &[0.5, f32::NAN])], Type::BF16)?;
    let step = step(&mut scaler, &mut optimizer, grads)?;
    let found = step.report().overflow().ok_or("no overflow was told")?;
    assert_eq!((&*found.parameter, found.index, found.what()), ("w", 1, "NaN"));
    assert!(!step.is_applied());
    assert_eq!(step.report().scale.factor(), 1.0);
    assert_eq!(values(&optimizer.params[0].value)?, [1.0, 2.0]);
    Ok(())
}
