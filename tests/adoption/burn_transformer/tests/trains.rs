//! The transformer seen in f16 and bf16, stepped by burn's own optimizer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_adoption_burn_transformer::{Transformer, batch, loss, right};
use binade_burn::{Burn, BurnOptimizer, BurnTensor, Views};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler};
use burn::optim::AdamWConfig;
use burn::tensor::Device;

type Failure = Box<dyn std::error::Error>;

/// The share that is guessed right at the end.
fn train(dtype: DType, steps: usize) -> Result<f32, Failure> {
    let device = Device::flex().autodiff();
    device.seed(7);
    let (inputs, targets) = batch(&device);
    let model = Transformer::new(&device);
    let adam = AdamWConfig::new().init();
    let mut last = 0.0;
    // glue: loop
    let rule = if dtype == DType::F16 { LossScale::dynamic() } else { LossScale::none() };
    let mut scaler = Scaler::new(Burn, rule)?;
    let mut trained = BurnOptimizer::new(Views::lower(dtype).attach(model)?, adam, 1e-2);
    // end of glue
    for _ in 0..steps {
        let logits = trained.module.forward(inputs.clone());
        last = right(&logits, targets.clone());
        let loss = loss(&logits, targets.clone());
        // glue: loop
        let scaled = scaler.scale(&BurnTensor::from(loss))?;
        let grads = scaled.backward(|loss| loss.backward(&trained.module))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
        scaler.update(step)?.resolve()?.unless_diverged()?;
        // end of glue
    }
    Ok(last)
}

#[test]
fn burns_encoder_learns_in_sixteen_bits() {
    for dtype in [DType::BF16, DType::F16] {
        let right = train(dtype, 60).unwrap();
        println!("{dtype}: {right}");
        assert!(right > 0.8, "{dtype}: {right}");
    }
}
