//! The device, opened once, and its replicas.

pub(crate) use crate::shared::support::*;

use binade_core::DType;
use binade_cuda::{
    Cuda, Gradients, JointGradients, Products, Replicas, Tensor, cudarc::driver::CudaContext,
};
use std::sync::OnceLock;

/// The backend's handle, as the tests of every backend call it.
pub(crate) type Gpu = Cuda;

/// The one device of this process; a stream of its own for each test would be no better, since the interpreter is one.
pub(crate) fn cuda() -> Cuda {
    match device() {
        Ok(cuda) => cuda.clone(),
        Err(error) => panic!("{error}"),
    }
}

/// The device, as the tests of every backend call it.
pub(crate) fn gpu() -> Gpu {
    cuda()
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
}

/// A vector whose first element is `offset` elements into its buffer.
pub(crate) fn shifted(cuda: &Cuda, values: &[f32], dtype: DType, offset: usize) -> Tensor {
    let padded: Vec<f32> =
        std::iter::repeat_n(f32::NAN, offset).chain(values.iter().copied()).collect();
    vector(cuda, &padded, dtype).slice(offset, values.len()).unwrap()
}
