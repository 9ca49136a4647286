//! A stranger's CUDA tensors, trained where they lie: `examples/cuda_tensor.rs`.

#[path = "../../examples/cuda_tensor.rs"]
mod cuda_tensor;

use crate::support::{Result, noise, own};
use binade_core::ops::{Download, Upload};
use binade_core::{DType, Element, Named};
use binade_cuda::cudarc::driver::DeviceRepr;
use binade_cuda::{Cuda, Gradients};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};
use cuda_tensor::{Gpu, Model, gradient, train};

crate::tests![
    a_strangers_tensors_train_where_they_lie_with_the_bits_of_this_crates_tensors,
    the_glue_has_at_most_120_lines,
];

const STEPS: usize = 12;

/// Lengths of the parameters: one element, less than a thread's group, and several chunks of a set.
const LENGTHS: [usize; 3] = [1, 7, 20_001];

/// Returns the values of each parameter.
fn values() -> Vec<Vec<f32>> {
    LENGTHS.iter().zip(1..).map(|(len, seed)| noise(seed, *len)).collect()
}

/// Trains this crate's own tensors as the stranger trains its, and returns their values, what was said, and the number of launches.
fn ordinary(dtype: DType, config: OptimizerConfig) -> Result<(Vec<Vec<f32>>, Vec<String>, u64)> {
    let cuda = own();
    let upload = |values: &Vec<f32>| cuda.upload(values, &[values.len()], dtype);
    let name = |place: usize| format!("p{place}");
    let mut params = Vec::new();
    for (place, values) in values().iter().enumerate() {
        params.push(Named::new(name(place), upload(values)?));
    }
    let mut scaler = Scaler::new(cuda.clone(), LossScale::dynamic())?;
    let mut optimizer = MasterOptimizer::new(cuda.clone(), params, config)?;
    let one = cuda.upload(&[1.0], &[], DType::F32)?;
    let (mut said, mut launches) = (Vec::new(), 0);
    for _ in 0..STEPS {
        let grads = scaler.scale(&one)?.backward(|seed| {
            let seed = cuda.download(seed)?[0];
            let grad = |param: &Named<_>| {
                let grad = upload(&gradient(&cuda.download(&param.value)?, seed))?;
                Ok(Named::new(param.name.clone(), Some(grad)))
            };
            let grads = optimizer.params.iter().map(grad);
            grads.collect::<Result<Vec<_>, binade_cuda::Error>>().map(Gradients::from)
        })?;
        let before = cuda.counters().launches;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;
        let outcome = scaler.update(step)?;
        launches += cuda.counters().launches - before;
        said.push(outcome.resolve()?.unless_diverged()?.to_string());
    }
    let trained = optimizer.params.iter().map(|param| cuda.download(&param.value));
    Ok((trained.collect::<Result<_, _>>()?, said, launches))
}

/// Trains a stranger's tensors and compares them, and the work that it took, with [`ordinary`].
fn compare<T: Element + DeviceRepr>(config: &OptimizerConfig) -> Result {
    let (want, wanted, launches) = ordinary(T::DTYPE, config.clone())?;
    let (cuda, gpu) = (own(), Gpu::open()?);
    let mut model: Model<T> = Vec::new();
    for (place, values) in values().iter().enumerate() {
        model.push(Named::new(format!("p{place}"), gpu.tensor(values, &[values.len()])?));
    }
    let before = (cuda.counters(), cuda.memory_use().bytes);
    let said = train(&cuda, &gpu, &model, (config.clone(), STEPS))?;
    let after = cuda.counters();
    assert_eq!(said, wanted);
    for (param, want) in model.iter().zip(&want) {
        let got = gpu.values(&param.value)?;
        assert!(got == *want, "{} of {} {config:?}", param.name, T::DTYPE);
    }
    assert_eq!(after.copies - before.0.copies, 0, "{}", T::DTYPE);
    assert_eq!(after.adopted - before.0.adopted, ((STEPS + 1) * LENGTHS.len()) as u64);
    // Beside the steps, the scale is multiplied into a loss, and masters that are copies are made by a cast of each parameter.
    let casts = u64::from(T::DTYPE == DType::F16) * LENGTHS.len() as u64;
    assert_eq!(after.launches - before.0.launches, launches + STEPS as u64 + casts);
    assert_eq!(memory_of(&cuda), before.1, "all memory of the run is given back");
    Ok(())
}

/// Returns the bytes in use, without the tables that the handle keeps.
fn memory_of(cuda: &Cuda) -> usize {
    cuda.trim();
    cuda.memory_use().bytes
}

fn a_strangers_tensors_train_where_they_lie_with_the_bits_of_this_crates_tensors() -> Result {
    let adamw = OptimizerConfig::new(UpdateRule::adamw(0.1))?;
    compare::<half::f16>(&adamw)?;
    compare::<half::bf16>(&adamw.clone().with_store(MasterStore::Stochastic { seed: 3 }))?;
    compare::<f32>(&adamw)
}

fn the_glue_has_at_most_120_lines() -> Result {
    let source = include_str!("../../examples/cuda_tensor.rs");
    let (_, glue) = source.split_once("// The glue begins.").ok_or("no beginning")?;
    let (glue, _) = glue.split_once("// The glue ends.").ok_or("no end")?;
    let lines = glue.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 120, "{lines}");
    Ok(())
}
