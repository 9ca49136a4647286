//! Cases 6, 10, 13 and 14: a skip changes nothing and is reported, and so is a missing gradient.

use crate::common::{Mlp, Result, Weights, device, fixed, step, trained};
use binade_burn::{Burn, BurnOptimizer, BurnTensor, Views};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler, Step};
use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig};
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{DType as BurnDType, Device, FloatDType, Int, Tensor};

/// Case 6: flaxchat#6, where moments, count and decay went on.
#[test]
fn an_overflow_leaves_parameters_and_the_optimizers_record_bit_for_bit() -> Result {
    let mut trained =
        trained(Weights::new(&[1.0, 2.0]), DType::F16, AdamWConfig::new().init(), 1e-2)?;
    let mut scaler = Scaler::new(Burn, LossScale::dynamic().with_init_scale(1024.0)?)?;
    let state = |trained: &BurnOptimizer<Weights>| {
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

/// Case 10: pytorch#105211, where a cast made without gradients was kept.
#[test]
fn gradients_are_all_there_after_an_evaluation_without_them() -> Result {
    let mut trained = trained(Mlp::new(), DType::F16, SgdConfig::new().init(), 1e-2)?;
    let evaluated = trained.module.valid();
    assert_eq!(evaluated.fc1.weight.val().dtype(), BurnDType::F16);
    let out = evaluated.forward(Tensor::<2>::ones([1, 4], &Device::flex()).cast(FloatDType::F16));
    assert!(!out.is_autodiff());
    let loss = trained.module.loss();
    let report = step(&mut fixed(4)?, &mut trained, loss)?.into_applied()?;
    assert_eq!(report.missing().count(), 0);
    Ok(())
}

/// Case 14: accelerate#328, "No inf checks were recorded for this optimizer".
#[test]
fn an_optimizer_without_gradients_is_an_error_that_says_so() -> Result {
    let one = || trained(Weights::new(&[1.0]), DType::F16, SgdConfig::new().init(), 0.5);
    let (mut used, mut unused, scaler) = (one()?, one()?, fixed(4)?);
    let loss = used.module.loss(&[1.0]);
    let grads =
        scaler.scale(&BurnTensor::from(loss))?.backward(|loss| loss.backward(&unused.module))?;
    let refused = grads.unscale()?.step(&mut unused).map(|_| ()).expect_err("no gradient");
    assert!(
        refused.to_string().starts_with("no gradient came for any of 1 parameters"),
        "{refused}"
    );
    let loss = used.module.loss(&[1.0]);
    assert!(step(&mut fixed(4)?, &mut used, loss)?.is_applied());
    Ok(())
}

/// Case 13: pytorch PR #36786. burn's gradient of a table is dense: repeated rows are added in the view's type.
#[test]
fn rows_that_repeat_and_add_up_to_infinity_are_found() -> Result {
    let table: Embedding = EmbeddingConfig::new(3, 1).init(&device());
    let table = Views::lower(DType::F16).attach(table)?;
    let mut trained = BurnOptimizer::new(table, SgdConfig::new().init(), 1.0);
    let rows = Tensor::<2, Int>::from_ints([[1, 1]], &device());
    let taken = trained.module.forward(rows).mul_scalar(40_000.0);
    let loss = taken.cast(FloatDType::F32).sum();
    let Step::Skipped(report) = step(&mut fixed(0)?, &mut trained, loss)? else {
        panic!("twice 40000 is beyond f16");
    };
    let overflow = report.overflow().expect("it overflowed");
    assert_eq!((&*overflow.parameter, overflow.index), ("weight", 1));
    Ok(())
}
