//! Trains one model of the README's loop for two steps in f16, for `.ci/walk`, which counts the files and functions that the second
//! step runs.
//!
//! `one_step cpu` or `one_step cuda`.

use binade::prelude::*;
use binade_core::ops::{CrossEntropy, Linear, Upload};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_tape::{ScalingDevice, Tape, Var};
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One step, from the scaled loss to the resolved outcome.
fn one_step<D>(amp: &mut Amp<D>, loss: &Var<D>) -> Outcome<Step>
where
    D: ScalingDevice + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>,
{
    let grads = amp.scaler.scale(loss)?.backward(Var::backward)?;
    let step = grads.unscale()?.clip_norm(1.0)?.step(&mut amp.optimizer)?;
    Ok(amp.scaler.update(step)?.resolve()?)
}

/// [`one_step`] under the name that callgrind collects, so that the first step, which prepares tables, is left out.
#[inline(never)]
fn counted_step<D>(amp: &mut Amp<D>, loss: &Var<D>) -> Outcome<Step>
where
    D: ScalingDevice + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>,
{
    one_step(amp, loss)
}

fn train<D>(device: &D) -> Outcome<()>
where
    D: ScalingDevice + Linear + CrossEntropy + Upload,
    D: MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>,
{
    let weight = device.upload(&[0.5; 8], &[2, 4], DType::F32)?;
    let model = Model::new(vec![Named::new("weight", weight)]);
    let level = OptLevel::O2.with(DType::F16);
    let mut amp = initialize(device.clone(), model, UpdateRule::adamw(1e-3), level)?;
    for label in [0, 1] {
        let images = device.upload(&[0.1, 0.2, 0.3, 0.4], &[1, 4], DType::F16)?;
        let labels = device.upload_i64(&[label], &[1])?;
        let tape = Tape::new(device.clone(), &amp.region);
        let weights = tape.parameters(&amp.optimizer.params);
        let loss = tape.constant(images).linear(&weights[0], None)?.cross_entropy(&labels)?;
        let step = if label == 0 { one_step } else { counted_step };
        println!("{}", step(&mut amp, &loss)?.unless_diverged()?);
    }
    Ok(())
}

fn main() -> Outcome<()> {
    match std::env::args().nth(1).as_deref() {
        Some("cpu") => train(&Cpu),
        Some("cuda") => train(&Cuda::open(0)?),
        other => Err(format!("`cpu` or `cuda` was expected, and not {other:?}").into()),
    }
}
