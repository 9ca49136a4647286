//! candle's `Var`s on a CUDA device, stepped where they lie. Nothing here launches a kernel of candle's.
#![cfg(feature = "candle")]
#![expect(unsafe_code, reason = "candle's memory is adopted by its address")]

use binade_candle::cuda::{CudaOptimizer, adopt_grads, backend};
use binade_core::ops::{Download, Upload};
use binade_core::{DType, Named, NamedGrads};
use binade_cuda::{AdoptError, Cuda, CudaError, Gradients};
use binade_grad_scaler::{LossScale, Scaler, StepOutcome};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use candle_core::cuda_backend::{CudaStorage, CudaStorageSlice};
use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Tensor, Var};
use half::f16;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const STEPS: u16 = 5;

/// Multiples of 1/64, which f16 has.
fn values(seed: u16, len: u16) -> Vec<f32> {
    (0..len).map(|i| f32::from((seed * 37 + i * 11) % 128) / 64.0 - 1.0).collect()
}

fn halves(values: &[f32]) -> Vec<f16> {
    values.iter().copied().map(f16::from_f32).collect()
}

fn tensor(values: &[f32], device: &Device) -> Result<Tensor> {
    Ok(Tensor::from_vec(halves(values), values.len(), device)?)
}

fn vars(device: &Device) -> Result<Vec<Named<Tensor>>> {
    let var = |(name, seed, len): (&str, u16, u16)| {
        let var = Var::from_tensor(&tensor(&values(seed, len), device)?)?;
        Ok(Named::new(name, var.into_inner()))
    };
    [("bias", 1, 3), ("weight", 2, 1000)].into_iter().map(var).collect()
}

fn grads(number: u16, device: &Device) -> Result<NamedGrads<Tensor>> {
    let grad = |(name, seed, len): (&str, u16, u16)| {
        Ok(Named::new(name, Some(tensor(&values(seed * number, len), device)?)))
    };
    [("bias", 3, 3), ("weight", 4, 1000)].into_iter().map(grad).collect()
}

fn config() -> Result<OptimizerConfig> {
    Ok(OptimizerConfig::new(UpdateRule::adamw(0.01))?)
}

fn optimizer(
    cuda: &Cuda,
    vars: &[Named<Tensor>],
    config: OptimizerConfig,
) -> Result<CudaOptimizer> {
    // SAFETY: nothing but `Swap` replaces memory, and the tensors are not used after it: the step that follows is refused.
    Ok(unsafe { CudaOptimizer::new(cuda, vars, config) }?)
}

fn adopted(cuda: &Cuda, grads: &NamedGrads<Tensor>) -> Result<Gradients> {
    // SAFETY: nothing replaces the memory of gradients here.
    Ok(unsafe { adopt_grads(cuda, grads) }?)
}

/// Takes a step of candle's `Var`s.
fn step(
    cuda: &Cuda,
    (scaler, optimizer): (&mut Scaler<Cuda>, &mut CudaOptimizer),
    grads: &NamedGrads<Tensor>,
) -> Result<StepOutcome<Cuda>> {
    let grads = scaler.check_unscaled(adopted(cuda, grads)?)?;
    Ok(scaler.update(grads.clip_norm(1.0)?.step(optimizer)?)?)
}

/// Returns what this crate's own tensors are after the same steps.
fn ordinary() -> Result<Vec<Vec<f32>>> {
    let cuda = Cuda::open(0)?;
    let upload = |values: Vec<f32>| cuda.upload(&values, &[values.len()], DType::F16);
    let params = vec![
        Named::new("bias", upload(values(1, 3))?),
        Named::new("weight", upload(values(2, 1000))?),
    ];
    let mut optimizer = MasterOptimizer::new(cuda.clone(), params, config()?)?;
    let mut scaler = Scaler::new(cuda.clone(), LossScale::none())?;
    for number in 1..=STEPS {
        let grads = vec![
            Named::new("bias", Some(upload(values(3 * number, 3))?)),
            Named::new("weight", Some(upload(values(4 * number, 1000))?)),
        ];
        let grads = scaler.check_unscaled(Gradients::from(grads))?.clip_norm(1.0)?;
        assert!(scaler.update(grads.step(&mut optimizer)?)?.resolve()?.is_applied());
    }
    let values = optimizer.params.iter().map(|param| cuda.download(&param.value));
    Ok(values.collect::<std::result::Result<_, binade_cuda::Error>>()?)
}

#[test]
fn vars_are_stepped_where_they_lie_with_the_bits_of_binades_own_tensors() -> Result {
    let device = Device::new_cuda_with_stream(0)?;
    let cuda = backend(&device)?;
    let vars = vars(&device)?;
    let mut optimizer = optimizer(&cuda, &vars, config()?)?;
    let mut scaler = Scaler::new(cuda.clone(), LossScale::none())?;
    for number in 1..=STEPS {
        let grads = grads(number, &device)?;
        let outcome = step(&cuda, (&mut scaler, &mut optimizer), &grads)?;
        assert!(outcome.resolve()?.is_applied());
    }
    for (var, want) in vars.iter().zip(ordinary()?) {
        assert!(var.value.to_vec1::<f16>()? == halves(&want), "{}", var.name);
    }
    let counters = cuda.counters();
    assert_eq!((counters.copies, counters.adopted), (0, 2 * u64::from(STEPS + 1)));
    Ok(())
}

#[test]
fn a_var_that_is_stored_in_another_type_becomes_a_new_var() -> Result {
    let device = Device::new_cuda_with_stream(0)?;
    let cuda = backend(&device)?;
    let wide = Var::from_tensor(&Tensor::from_vec(values(2, 100), 100, &device)?)?.into_inner();
    let vars = [Named::new("weight", wide.clone())];
    let config = config()?.with_storage(DType::F16);
    let optimizer = optimizer(&cuda, &vars, config)?;
    let low = &optimizer.vars[0].value;
    assert!(low.is_variable() && low.to_vec1::<f16>()? == halves(&values(2, 100)));
    assert_eq!(wide.to_vec1::<f32>()?, values(2, 100));
    Ok(())
}

/// Operation in place that puts other memory in a tensor's storage.
struct Swap;

impl InplaceOp1 for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn cpu_fwd(&self, _: &mut CpuStorage, _: &Layout) -> candle_core::Result<()> {
        candle_core::bail!("on CUDA alone")
    }

    fn cuda_fwd(&self, storage: &mut CudaStorage, _: &Layout) -> candle_core::Result<()> {
        storage.slice = CudaStorageSlice::F16(storage.device.alloc_zeros::<f16>(1000)?);
        Ok(())
    }
}

#[test]
fn a_var_that_lies_elsewhere_than_it_was_adopted_is_refused() -> Result {
    let device = Device::new_cuda_with_stream(0)?;
    let cuda = backend(&device)?;
    let vars = vars(&device)?;
    let mut optimizer = optimizer(&cuda, &vars, config()?)?;
    let scaler = Scaler::new(cuda.clone(), LossScale::none())?;
    vars[1].value.inplace_op1(&Swap)?;
    let grads = scaler.check_unscaled(adopted(&cuda, &grads(1, &device)?)?)?;
    let refused = grads.step(&mut optimizer).map(drop);
    let (operation, why) = ("step", AdoptError::Replaced);
    assert_eq!(refused, Err(binade_cuda::Error::Driver(CudaError::Adopt { operation, why })));
    Ok(())
}

#[test]
fn tensors_on_the_host_are_refused_by_name() -> Result {
    let device = Device::new_cuda_with_stream(0)?;
    let cuda = backend(&device)?;
    let vars = vars(&Device::Cpu)?;
    let refused = optimizer(&cuda, &vars, config()?).map(drop);
    let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.starts_with("`bias` is not on a CUDA device"), "{text}");
    assert!(backend(&Device::Cpu).is_err());
    Ok(())
}
