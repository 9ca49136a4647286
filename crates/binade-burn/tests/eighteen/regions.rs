//! Cases 10 to 12: a view is a value of the module, so that there is no region to leave, restore or carry over.

use crate::common::{Mlp, Result, fixed, step, trained};
use binade_burn::BurnTensor;
use binade_core::DType;
use burn::module::Module;
use burn::optim::SgdConfig;
use burn::tensor::{DType as BurnDType, Device, FloatDType, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

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

/// Case 11: tch's autocast stayed on after a panic.
#[test]
fn a_panic_in_the_forward_pass_leaves_everything_as_it_was() -> Result {
    let mut trained = trained(Mlp::new(), DType::F16, SgdConfig::new().init(), 1e-2)?;
    let before = trained.module.bits();
    // Inputs in f32 meet weights seen in f16, at which burn panics.
    let mixed = Tensor::ones([1, 4], &crate::common::device());
    let forward = AssertUnwindSafe(|| trained.module.forward(mixed));
    assert!(catch_unwind(forward).is_err());
    assert_eq!(trained.module.bits(), before);
    let loss = trained.module.loss();
    assert!(step(&mut fixed(4)?, &mut trained, loss)?.is_applied());
    Ok(())
}

/// Case 12: pytorch#125186, where backward on another thread computed in another type.
#[test]
fn backward_on_another_thread_gives_the_same_bits() -> Result {
    let trained = trained(Mlp::new(), DType::BF16, SgdConfig::new().init(), 1e-2)?;
    let scaler = fixed(4)?;
    let loss = || scaler.scale(&BurnTensor::from(trained.module.loss()));
    let here = loss()?.backward(|loss| loss.backward(&trained.module))?.unscale()?;
    let (there, module) = (loss()?, &trained.module);
    let there = thread::scope(|threads| {
        let there = threads.spawn(move || there.backward(|loss| loss.backward(module)));
        there.join().expect("no panic")
    })?;
    let there = there.unscale()?;
    assert_eq!(here.grads().len(), 4);
    for (here, there) in here.grads().iter().zip(there.grads()) {
        let bits = |grad: &binade_core::Named<Option<BurnTensor>>| {
            let grad = grad.value.as_ref().expect("it has a gradient");
            grad.to_data().expect("a CPU can be read")
        };
        assert_eq!(bits(here).dtype(), BurnDType::F32);
        assert_eq!(bits(here).as_bytes(), bits(there).as_bytes(), "{}", here.name);
    }
    Ok(())
}
