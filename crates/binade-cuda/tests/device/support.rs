//! The device, opened once, and the same training on it and on the CPU.

use binade_core::{DType, Error, GradSet, Handle, Named, Optimizer as _};
use binade_cuda::{
    Cuda, Gradients, JointGradients, Products, Replicas, Tensor, cudarc::driver::CudaContext,
};
use binade_grad_scaler::{GradOps, Loss, ScaleState};
use binade_master_weights::{HostMasters, MasterOptimizer, MasterWeights, Plan, Slot};
use binade_ops::Upload;
use libtest_mimic::Failed;
use std::sync::OnceLock;

pub(crate) type Result<T = (), E = Failed> = std::result::Result<T, E>;

/// The one device of this process; a stream of its own for each test would be no better, since the interpreter is one.
pub(crate) fn cuda() -> Cuda {
    match device() {
        Ok(cuda) => cuda.clone(),
        Err(error) => panic!("{error}"),
    }
}

/// A device whose products are computed by kernels, whatever library there is: for those that compare bits, which a library
/// promises of the same product alone.
pub(crate) fn kernels() -> Cuda {
    static DEVICE: OnceLock<Cuda> = OnceLock::new();
    DEVICE.get_or_init(|| own().with_products(Products::Own)).clone()
}

/// A device that no other test has, for those that count: its ledger is theirs alone.
pub(crate) fn own() -> Cuda {
    let cuda = Cuda::open(0).unwrap_or_else(|error| panic!("{error}"));
    cuda.with_products(wanted())
}

fn device() -> &'static Result<Cuda, binade_cuda::Error> {
    static DEVICE: OnceLock<Result<Cuda, binade_cuda::Error>> = OnceLock::new();
    DEVICE.get_or_init(|| Cuda::open(0).map(|cuda| cuda.with_products(wanted())))
}

/// What multiplies in most tests: the library where there is one, unless `BINADE_PRODUCTS` is `own`.
fn wanted() -> Products {
    let is_own = std::env::var("BINADE_PRODUCTS").is_ok_and(|by| by == "own");
    if is_own { Products::Own } else { Products::Library }
}

/// Replicas on two devices, or twice on one where there is no other.
pub(crate) fn replicas() -> Replicas {
    let second = usize::from(CudaContext::device_count().is_ok_and(|count| count > 1));
    Replicas::open(&[0, second]).unwrap_or_else(|error| panic!("{error}"))
}

/// Replicas twice on one device, on two, and on three that begin with the last.
pub(crate) fn all_replicas() -> Vec<Replicas> {
    let second = usize::from(CudaContext::device_count().is_ok_and(|count| count > 1));
    let open = |ordinals: &[usize]| Replicas::open(ordinals).unwrap_or_else(|e| panic!("{e}"));
    vec![open(&[0, 0]), open(&[0, second]), open(&[second, 0, 0])]
}

/// A set of gradients, those without values being missing.
pub(crate) type Set = Vec<(&'static str, Option<Vec<f32>>)>;

/// Gradients of which each device has its own.
pub(crate) fn apart(replicas: &Replicas, each: &[Set], dtype: DType) -> JointGradients {
    let sets = replicas.devices().iter().zip(each);
    sets.map(|(cuda, grads)| set(cuda, grads, dtype)).collect::<Vec<Gradients>>().into()
}

/// Times that the host has waited for any of the devices.
pub(crate) fn waits(replicas: &Replicas) -> u64 {
    replicas.devices().iter().map(|cuda| cuda.ledger().syncs).sum()
}

/// Why the tests cannot run, unless they must.
pub(crate) fn absent() -> Option<String> {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| ["cuda", "ptx"].contains(&name.trim()));
    device().as_ref().err().filter(|_| !is_required).map(ToString::to_string)
}

/// A device that does all that the tests ask for, and whose tensors can be compared bit by bit.
pub(crate) trait Device:
    Upload
    + GradOps<
        Tensor: Loss<Self, Error = <Self as Handle>::Error>,
        Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>,
    > + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
    + Clone
    + 'static
{
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8>;

    fn of_bits(&self, bits: &[u8], dtype: DType) -> Self::Tensor;
}

/// A device's set of gradients.
pub(crate) type Grads<D> = <D as GradSet>::Grads;

/// What a device's pass finds.
pub(crate) type Found<D> = <D as GradSet>::Found;

impl Device for Cuda {
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        self.to_bits(tensor).unwrap()
    }

    fn of_bits(&self, bits: &[u8], dtype: DType) -> Self::Tensor {
        self.from_bits(bits, dtype, &[bits.len() / dtype.bytes()]).unwrap()
    }
}

impl Device for Replicas {
    /// Those of every device, which must be the same.
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        let bits = |(cuda, part): (&Cuda, _)| cuda.to_bits(part).unwrap();
        let mut parts = self.devices().iter().zip(tensor).map(bits);
        let first = parts.next().unwrap();
        for other in parts {
            assert_eq!(other, first, "devices differ");
        }
        first
    }

    fn of_bits(&self, bits: &[u8], dtype: DType) -> Self::Tensor {
        let parts = self.devices().iter().map(|cuda| cuda.of_bits(bits, dtype)).collect();
        self.tensor(parts).unwrap()
    }
}

impl Device for binade_cpu::Cpu {
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        tensor.to_bits()
    }

    fn of_bits(&self, bits: &[u8], dtype: DType) -> Self::Tensor {
        binade_cpu::Tensor::from_bits(bits, dtype, &[bits.len() / dtype.bytes()]).unwrap()
    }
}

/// A vector of these values.
pub(crate) fn vector<D: Device>(device: &D, values: &[f32], dtype: DType) -> D::Tensor {
    device.upload(values, &[values.len()], dtype).unwrap()
}

/// So many values between -1 and 1, the same for the same seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| random.f32() * 2.0 - 1.0).collect()
}

/// A set of gradients, those without values being missing.
pub(crate) fn set<D: Device>(
    device: &D,
    grads: &[(&str, Option<Vec<f32>>)],
    dtype: DType,
) -> Grads<D> {
    let one = |(name, values): &(&str, Option<Vec<f32>>)| {
        Named::new(*name, values.as_ref().map(|values| vector(device, values, dtype)))
    };
    grads.iter().map(one).collect::<Vec<_>>().into()
}

/// A vector whose first element is `offset` elements into its buffer.
pub(crate) fn shifted(cuda: &Cuda, values: &[f32], dtype: DType, offset: usize) -> Tensor {
    let padded: Vec<f32> =
        std::iter::repeat_n(f32::NAN, offset).chain(values.iter().copied()).collect();
    vector(cuda, &padded, dtype).slice(offset, values.len()).unwrap()
}

/// An optimizer of parameters with these values.
pub(crate) fn optimizer<D: Device>(
    device: &D,
    params: &[(&str, Vec<f32>)],
    dtype: DType,
    plan: Plan,
) -> MasterOptimizer<D> {
    let param =
        |(name, values): &(&str, Vec<f32>)| Named::new(*name, vector(device, values, dtype));
    let params = params.iter().map(param).collect();
    MasterOptimizer::new(device.clone(), params, plan).unwrap()
}

/// A step of gradients that were never scaled, the same for every parameter but for its length.
pub(crate) fn step<D: Device>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    step_in(DType::F32, device, optimizer, grads)
}

/// The same of gradients of this type.
pub(crate) fn step_in<D: Device>(
    dtype: DType,
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    let scale =
        device.upload_state(ScaleState::from_exponent(0)).map_err(|error| error.to_string())?;
    let one =
        |(name, values): &(&str, Vec<f32>)| Named::new(*name, Some(vector(device, values, dtype)));
    let mut grads: Grads<D> = grads.iter().map(one).collect::<Vec<_>>().into();
    let found = device.unscale(&mut grads, &scale).map_err(|error| error.to_string())?;
    Ok(optimizer.step(grads, &found).map_err(|error| error.to_string())?)
}

/// A slot of the CPU's.
pub(crate) fn here(masters: &HostMasters, name: &str) -> Slot {
    masters.get(name).unwrap().clone()
}

/// The kind of an error, for results that must be refused.
pub(crate) fn kind<T, E: Error>(result: Result<T, E>) -> binade_core::ErrorKind {
    match result {
        Ok(_) => panic!("this must be refused"),
        Err(error) => error.kind(),
    }
}
