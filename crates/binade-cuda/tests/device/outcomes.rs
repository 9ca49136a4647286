//! Flags that other devices write.

use crate::support::{Device as _, Result, cuda, found, set, vector};
use binade_core::DType;
use binade_grad_scaler::{LossScale, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![flags_that_sum_to_two_skip];

/// The flags of two devices are added up, as a reduction among them does.
fn flags_that_sum_to_two_skip() -> Result {
    let cuda = cuda();
    let mut two = found(&cuda, 1.0);
    cuda.write_flag(&mut two, 2)?;
    let mut scale = cuda.upload_state(ScaleState::from_exponent(16))?;
    let mut params = vec![binade_core::Named::new("w", vector(&cuda, &[1.0], DType::F32))];
    let mut masters = cuda.masters(&mut params, &OptimizerConfig::new(UpdateRule::sgd(1.0))?)?;
    let grads = set(&cuda, &[("w", Some(vec![1.0]))], DType::F32);
    cuda.step(&mut params, &mut masters, grads, &two)?;
    cuda.update(&mut scale, &[], &[&two], &LossScale::dynamic())?;
    assert_eq!(cuda.bits(&params[0].value), 1.0_f32.to_le_bytes());
    let (findings, state) = cuda.read(&[&two], &scale)?;
    assert_eq!((state.exponent, state.skipped), (15, 1));
    let overflow = findings[0].overflow.as_ref().ok_or("not raised")?;
    assert_eq!(&*overflow.parameter, "a gradient of another device");
    Ok(())
}
