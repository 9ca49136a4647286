//! Times the whole AdamW step of the CPU backend, and the pass that unscales: `step ELEMENTS STEPS`.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --manifest-path tests/release_build/Cargo.toml -- 64000000 5`

use binade_core::{DType, Named, Optimizer as _};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradScaler as _, LossScale};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use std::{env, error::Error, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |word| word.parse());
    let (elements, steps) = (number(1 << 20)?, number(3)?);
    println!("weights gradients  unscale ms  step ms  checksum");
    for weights in [DType::F32, DType::BF16, DType::F16] {
        for gradients in [DType::F32, DType::BF16, DType::F16] {
            println!("{}", row(weights, gradients, elements, steps)?);
        }
    }
    Ok(())
}

/// The fastest of `steps` of each pass, and the sum of the weights after all of them.
fn row(
    weights: DType,
    gradients: DType,
    elements: usize,
    steps: usize,
) -> Result<String, Box<dyn Error>> {
    let ramp = |by: f32| (0..elements).map(|i| by * ((i % 1021) as f32 - 510.0)).collect();
    let values = Tensor::from_f32(ramp(1e-3), &[elements], DType::F32)?;
    let config = OptimizerConfig::new(UpdateRule::adamw(1e-3))?.with_storage(weights);
    let mut optimizer = MasterOptimizer::new(Cpu, vec![Named::new("weight", values)], config)?;
    let grad = Tensor::from_f32(ramp(16.0), &[elements], gradients)?;
    let scale = LossScale::dynamic().start();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..steps {
        let mut grads = Gradients::from(vec![Named::new("weight", Some(grad.clone()))]);
        let started = Instant::now();
        let found = Cpu.unscale(&mut grads, &scale)?;
        let unscaled = Instant::now();
        optimizer.step(grads, &found)?;
        let passes = [unscaled - started, unscaled.elapsed()];
        least = [0, 1].map(|i| least[i].min(passes[i].as_secs_f64() * 1e3));
    }
    let sum: f64 = optimizer.params[0].value.to_f32().iter().map(|x| f64::from(*x)).sum();
    let [unscale, step] = least;
    Ok(format!("{weights:<7} {gradients:<9} {unscale:>11.2} {step:>8.2}  {sum:.9e}"))
}
