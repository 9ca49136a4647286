//! Cases 6 to 8 and 17: a skip changes nothing and is told, and the scale stays within its limits.

use crate::common::{Mlp, Result, Weights, fixed, step, trained};
use binade_burn::{Burn, BurnTensor};
use binade_core::{DType, Named};
use binade_grad_scaler::{LossScale, Scaler, Step};
use burn::module::Module;
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{Device, Tensor};

/// Case 6: flaxchat#6, where moments, count and decay went on.
#[test]
fn an_overflow_leaves_parameters_and_the_optimizers_record_bit_for_bit() -> Result {
    let mut trained =
        trained(Weights::new(&[1.0, 2.0]), DType::F16, AdamWConfig::new().init(), 1e-2)?;
    let mut scaler = Scaler::new(Burn, LossScale::dynamic().with_init_scale(1024.0)?)?;
    let state = |trained: &binade_burn::BurnOptimizer<Weights>| {
        Ok::<_, Box<dyn std::error::Error>>((
            trained.module.clone().into_record().into_bytes()?,
            trained.optimizer.into_bytes()?,
        ))
    };
    let loss = trained.module.loss(&[0.5, 0.25]);
    assert!(step(&mut scaler, &mut trained, loss)?.is_applied());
    let before = state(&trained)?;
    let loss = trained.module.loss(&[0.5, 60_000.0]);
    let Step::Skipped(report) = step(&mut scaler, &mut trained, loss)? else {
        panic!("60000 times 1024 is beyond f16");
    };
    let overflow = report.overflow().expect("it overflowed");
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("w", 1, "+inf"));
    assert_eq!((report.scale.factor_before(), report.scale.factor()), (1024.0, 512.0));
    let after = state(&trained)?;
    assert_eq!(before.0[..], after.0[..]);
    assert_eq!(before.1[..], after.1[..]);
    Ok(())
}

/// Case 7: pytorch#96755.
#[test]
fn gradients_that_are_finite_scaled_and_infinite_unscaled_are_a_skip() -> Result {
    let mut trained = trained(Weights::new(&[1e-10]), DType::F32, SgdConfig::new().init(), 1.0)?;
    let loss = trained.module.loss(&[1e20]).mul_scalar(1e20);
    let Step::Skipped(report) = step(&mut fixed(-20)?, &mut trained, loss)? else {
        panic!("1e40 is beyond f32");
    };
    let overflow = report.overflow().expect("it overflowed");
    assert!(overflow.scaled.is_finite() && overflow.unscaled.is_infinite(), "{report}");
    assert_eq!(trained.module.values(), [1e-10]);
    Ok(())
}

/// Case 8: pytorch#98828, apex#318.
#[test]
fn the_scale_stays_within_its_limits_in_ten_thousand_updates() -> Result {
    let rule = LossScale::dynamic().with_growth_interval(3)?.with_limits(1.0, 1_048_576.0)?;
    let mut scaler = Scaler::new(Burn, rule)?;
    let mut trained = trained(Weights::new(&[0.0]), DType::F32, SgdConfig::new().init(), 1e-9)?;
    let device = Device::flex();
    let [good, bad] =
        [1.0, f32::INFINITY].map(|x| BurnTensor::from(Tensor::<1>::from_floats([x], &device)));
    let mut state = 1_u32;
    let mut diverged = 0;
    for _ in 0..10_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grad = if state >> 30 == 0 { &bad } else { &good };
        let grads = vec![Named::new("w", Some(grad.clone()))];
        let pending = scaler.check_unscaled(grads)?.step(&mut trained)?;
        if let Step::Diverged(_) = scaler.update(pending)?.resolve()? {
            diverged += 1;
            scaler.set_state(rule.start())?;
        }
        let factor = scaler.state()?.factor();
        assert!((1.0..=1_048_576.0).contains(&factor), "{factor}");
    }
    assert!(diverged < 10_000);
    Ok(())
}

/// Case 17: Megatron-LLM#33, where a NaN in bf16 went by since nothing was scaled.
#[test]
fn a_nan_in_a_bf16_run_is_reported_though_the_scale_is_one() -> Result {
    let mut trained = trained(Mlp::new(), DType::BF16, AdamWConfig::new().init(), 1e-2)?;
    let mut scaler = Scaler::new(Burn, LossScale::none())?;
    let before = trained.module.bits();
    let loss = trained.module.loss().mul_scalar(f32::NAN);
    let Step::Skipped(report) = step(&mut scaler, &mut trained, loss)? else { panic!("NaN") };
    let overflow = report.overflow().expect("it overflowed");
    assert_eq!((&*overflow.parameter, overflow.what()), ("fc1.weight", "NaN"));
    assert_eq!(report.scale.factor(), 1.0);
    assert_eq!(trained.module.bits(), before);
    Ok(())
}
