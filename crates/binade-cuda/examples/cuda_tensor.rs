//! A CUDA tensor of another library, trained by Binade where it lies: no gradient and no parameter is copied.
//!
//! `cargo run -p binade-cuda --example cuda_tensor`, or `cargo xtask on ptx` before it on a machine without a GPU.

use binade_core::ops::Upload;
use binade_core::{DType, Element, Named};
use binade_cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DeviceRepr, DriverError};
use binade_cuda::{Cuda, CudaError, Error, Gradients, Tensor};
use binade_grad_scaler::{LossScale, Scaler, StepOutcome};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use std::sync::Arc;

// The other library: its tensor, its stream and its backward pass. It does not know Binade.

/// A tensor whose clones share its memory.
#[derive(Clone)]
pub(crate) struct GpuTensor<T> {
    elements: Arc<CudaSlice<T>>,
    shape: Vec<usize>,
}

/// A device with a context object and a stream of its own.
pub(crate) struct Gpu {
    stream: Arc<CudaStream>,
}

impl Gpu {
    pub(crate) fn open() -> Result<Self, DriverError> {
        Ok(Self { stream: CudaContext::new(0)?.new_stream()? })
    }

    pub(crate) fn tensor<T: Element + DeviceRepr>(
        &self,
        values: &[f32],
        shape: &[usize],
    ) -> Result<GpuTensor<T>, DriverError> {
        let elements: Vec<T> = values.iter().map(|value| T::from_f32(*value)).collect();
        let elements = Arc::new(self.stream.clone_htod(&elements)?);
        Ok(GpuTensor { elements, shape: shape.to_vec() })
    }

    pub(crate) fn values<T: Element + DeviceRepr>(
        &self,
        tensor: &GpuTensor<T>,
    ) -> Result<Vec<f32>, DriverError> {
        let elements = self.stream.clone_dtoh(&*tensor.elements)?;
        Ok(elements.into_iter().map(T::to_f32).collect())
    }

    /// Returns the gradient of the loss (weight - 0.5)² / 2, times the number in `seed`. A real library launches its kernels here.
    pub(crate) fn gradient<T: Element + DeviceRepr>(
        &self,
        weight: &GpuTensor<T>,
        seed: &CudaSlice<f32>,
    ) -> Result<GpuTensor<T>, DriverError> {
        let (seed, values) = (self.stream.clone_dtoh(seed)?[0], self.values(weight)?);
        self.tensor(&gradient(&values, seed), &weight.shape)
    }
}

/// Returns the gradient of (weight - 0.5)² / 2, times `seed`.
pub(crate) fn gradient(weights: &[f32], seed: f32) -> Vec<f32> {
    weights.iter().map(|weight| (weight - 0.5) * seed).collect()
}

// The glue begins.

/// Binade's loss scale, masters and fused step for parameters of the other library.
pub(crate) struct Trainer {
    cuda: Cuda,
    /// Stream of the other library.
    theirs: Arc<CudaStream>,
    scaler: Scaler<Cuda>,
    optimizer: MasterOptimizer<Cuda>,
    one: Tensor,
}

/// Parameters by name.
pub(crate) type Model<T> = Vec<Named<GpuTensor<T>>>;

impl Trainer {
    /// Makes masters and moments for a model, whose tensors stay where they are.
    pub(crate) fn new<T: Element>(
        cuda: &Cuda,
        theirs: &Arc<CudaStream>,
        model: &Model<T>,
        config: OptimizerConfig,
    ) -> Result<Self, Error> {
        let adopt = |Named { name, value }: &Named<GpuTensor<T>>| {
            Ok(Named::new(name.clone(), cuda.adopt_mut(value.elements.clone(), &value.shape)?))
        };
        let params = model.iter().map(adopt).collect::<Result<_, Error>>()?;
        Ok(Self {
            theirs: theirs.clone(),
            scaler: Scaler::new(cuda.clone(), LossScale::dynamic())?,
            optimizer: MasterOptimizer::new(cuda.clone(), params, config)?,
            one: cuda.upload(&[1.0], &[], DType::F32)?,
            cuda: cuda.clone(),
        })
    }

    /// Takes a step. `backward` returns the gradients of the loss times the number that it is given, one for each parameter.
    pub(crate) fn step<T: Element>(
        &mut self,
        backward: impl FnOnce(&CudaSlice<f32>) -> Result<Vec<Named<GpuTensor<T>>>, DriverError>,
    ) -> Result<StepOutcome<Cuda>, Error> {
        let Self { cuda, theirs, .. } = self;
        let grads = self.scaler.scale(&self.one)?.backward(|seed| {
            let grads = backward(&*cuda.lend(seed, theirs)?).map_err(failed)?;
            let adopt = |Named { name, value }: Named<GpuTensor<T>>| {
                let grad = cuda.adopt(value.elements, &value.shape)?;
                Ok(Named::new(name, Some(grad)))
            };
            Ok(Gradients::from(grads.into_iter().map(adopt).collect::<Result<Vec<_>, Error>>()?))
        })?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut self.optimizer)?;
        self.cuda.precede(&self.theirs)?; // what the library reads next is stepped
        self.scaler.update(step)
    }
}

/// The other library's error as this device's.
fn failed(error: DriverError) -> Error {
    Error::Driver(CudaError::Call { call: "backward", cause: error.to_string() })
}

// The glue ends.

/// Trains a model of the other library for some steps, and prints what is remarkable.
pub(crate) fn train<T: Element + DeviceRepr>(
    cuda: &Cuda,
    gpu: &Gpu,
    model: &Model<T>,
    (config, steps): (OptimizerConfig, usize),
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut trainer = Trainer::new(cuda, &gpu.stream, model, config)?;
    let mut said = Vec::new();
    for _ in 0..steps {
        let outcome = trainer.step(|seed| {
            let one = |Named { name, value }: &Named<GpuTensor<T>>| {
                Ok(Named::new(name.clone(), gpu.gradient(value, seed)?))
            };
            model.iter().map(one).collect()
        })?;
        said.push(outcome.resolve()?.unless_diverged()?.to_string());
    }
    Ok(said)
}

#[allow(dead_code, reason = "tests include this file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (cuda, gpu) = (Cuda::open(0)?, Gpu::open()?);
    let weight = gpu.tensor::<half::f16>(&[0.0, 1.0, 3.0, -2.0, 0.25, 8.0], &[2, 3])?;
    let model = vec![Named::new("weight", weight.clone())];
    let config = OptimizerConfig::new(UpdateRule::adamw(0.1))?;
    for said in train(&cuda, &gpu, &model, (config, 40))? {
        println!("{said}");
    }
    println!("{:?}", gpu.values(&weight)?);
    println!("{:?}", cuda.counters());
    Ok(())
}
