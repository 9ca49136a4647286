//! Network of burn's, trained by burn's `AdamW` in f32, f16 and bf16, with `Views` and a `Scaler` added.

use binade_burn::{Burn, BurnOptimizer, BurnTensor, Views, require_dtype};
use binade_core::DType;
use binade_example_burn::{Batch, Mlp, batch};
use binade_grad_scaler::{LossScale, Scaler, Step};
use burn::optim::AdamWConfig;
use burn::tensor::{Device, FloatDType, Tensor};
use std::error::Error;

const STEPS: usize = 300;

/// Returns the loss in `f32`; the model computes in `dtype`.
fn loss(model: &Mlp, batch: &Batch, dtype: FloatDType) -> Tensor<1> {
    let out = model.forward(batch.inputs.clone().cast(dtype)).cast(FloatDType::F32);
    (out - batch.targets.clone()).powi_scalar(2).mean()
}

/// Trains, and returns a row of the table.
fn train(dtype: DType, rule: LossScale) -> Result<String, Box<dyn Error>> {
    let device = Device::flex().autodiff();
    device.seed(42);
    let (batch, float) = (batch(&device), require_dtype(&device, dtype)?);
    let model = Views::lower(dtype).attach(Mlp::new(&device))?;

    let mut scaler = Scaler::new(Burn, rule)?;
    let mut trained = BurnOptimizer::new(model, AdamWConfig::new().init(), 3e-3);
    let mut skipped = Vec::new();
    for step in 0..STEPS {
        let loss = loss(&trained.module, &batch, float);
        let grads = scaler
            .scale(&BurnTensor::from(loss))?
            .backward(|loss| loss.backward(&trained.module))?;
        let pending = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
        match scaler.update(pending)?.resolve()? {
            Step::Applied(report) if report.is_remarkable() => eprintln!("{report}"),
            Step::Applied(_) => {}
            Step::Skipped(_) => skipped.push(step),
            Step::Diverged(report) => return Err(report.into()),
        }
    }
    let loss = loss(&trained.module, &batch, float).into_scalar::<f32>();
    let (skipped, scale) = (skipped.len(), scaler.state()?.factor());
    Ok(format!("{dtype:<5}  {loss:>8.5}  {skipped:>7}  {scale:>11}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("type       loss  skipped  final scale");
    println!("{}", train(DType::F32, LossScale::none())?);
    // The scale starts at 2^24, so that the search for one can be seen; the default is 2^16.
    println!("{}", train(DType::F16, LossScale::dynamic().with_init_scale(16_777_216.0)?)?);
    println!("{}", train(DType::BF16, LossScale::none())?);
    Ok(())
}
