//! The device, opened once.

pub(crate) use crate::shared::support::*;

use binade_core::{DType, MultiTensor as _, Named, Norm};
use binade_cuda::{Capture, Captured, Cuda, CudaRank, Error, Products, ProductsBackend, Tensor};
use binade_grad_scaler::{GradScaler as _, ScaleState, ScaleStore as _};
use std::sync::OnceLock;

/// The backend's handle, as the tests of every backend call it.
pub(crate) type Gpu = Cuda;

/// Rules by which a run is killed: a process each.
pub(crate) const KILLED_RULES: usize = 5;

/// True where norms of whole tensors, and what follows from them, have the CPU's bits.
pub(crate) const HAS_THE_CPUS_NORMS: bool = true;

/// Returns the one device of this process. A stream for each test would gain nothing, since the interpreter has one.
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

/// Returns a device that no other test has, for tests that count: its counters are theirs alone.
pub(crate) fn own() -> Cuda {
    let cuda = Cuda::open(0).unwrap_or_else(|error| panic!("{error}"));
    cuda.with_products(wanted())
}

fn device() -> &'static Result<Cuda, Error> {
    static DEVICE: OnceLock<Result<Cuda, Error>> = OnceLock::new();
    DEVICE.get_or_init(|| Cuda::open(0).map(|cuda| cuda.with_products(wanted())))
}

/// Returns the products of most tests: by the library if there is one, unless `BINADE_PRODUCTS` is `own`.
fn wanted() -> Products {
    let is_own = std::env::var("BINADE_PRODUCTS").is_ok_and(|by| by == "own");
    if is_own { Products::Own } else { Products::Library }
}

/// Returns the reason why the tests cannot run, unless they are required.
pub(crate) fn absent() -> Option<String> {
    let is_required = is_required(&["cuda", "ptx"]);
    device().as_ref().err().filter(|_| !is_required).map(ToString::to_string)
}

/// Returns the reason why tests of a library cannot run, unless `name` is required: that of what computes instead.
pub(crate) fn absent_library(
    name: &str,
    by: fn(&Cuda) -> Result<ProductsBackend, Error>,
) -> Option<String> {
    match device().as_ref().map(by) {
        Ok(Ok(ProductsBackend::Own { why })) if !is_required(&[name]) => Some(why),
        _ => None,
    }
}

/// Returns true on the stand-in. A real library may have algorithms for other cases than the stand-in has.
pub(crate) fn is_stand_in() -> bool {
    cuda().name().is_ok_and(|name| name == "Binade PTX interpreter")
}

/// Returns tensors as a set, all under one name.
pub(crate) fn named(tensors: &[Tensor]) -> Vec<Named<Tensor>> {
    tensors.iter().map(|tensor| Named::new("w", tensor.clone())).collect()
}

/// Returns tensors in another type, by one launch.
pub(crate) fn cast_all(cuda: &Cuda, tensors: &[Tensor], to: DType) -> Result<Vec<Tensor>, Error> {
    let cast = cuda.cast_all(&named(tensors), &vec![to; tensors.len()])?;
    Ok(cast.into_iter().map(|tensor| tensor.value).collect())
}

/// Returns the L2 norm of all tensors together, by one launch.
pub(crate) fn l2_norm(cuda: &Cuda, tensors: &[Tensor]) -> Result<Tensor, Error> {
    Ok(cuda.norms(&named(tensors), Norm::L2)?.all)
}

/// Begins a capture with its two warm-ups, whose results are dropped.
pub(crate) fn warmed<R, E: From<Error>>(
    cuda: &Cuda,
    mut step: impl FnMut() -> Result<R, E>,
) -> Result<Capture<2>, E> {
    let (result, capture) = cuda.capture().warm_up(&mut step)?;
    drop(result);
    let (_, capture) = capture.warm_up(&mut step)?;
    Ok(capture)
}

/// Captures a step after its warm-ups.
pub(crate) fn captured<R, E: From<Error>>(
    cuda: &Cuda,
    mut step: impl FnMut() -> Result<R, E>,
) -> Result<Captured<R>, E> {
    warmed(cuda, &mut step)?.capture(step)
}

/// Returns the finding of one element, at a scale of 1.
pub(crate) fn found(device: &Cuda, value: f32) -> Found<Cuda> {
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    device.unscale(&mut set(device, &[("w", Some(vec![value]))], DType::F32), &scale).unwrap()
}

impl Device for CudaRank {
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        self.cuda().to_bits(tensor).unwrap()
    }
}
