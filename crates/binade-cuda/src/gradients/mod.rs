//! Gradients as kernels are given them.

mod materialise;

use crate::{Error, Gradients, Tensor};
use binade_core::DType;

/// The address of the word that says whether an entry is present, or 0 where the host knows that it is.
pub(crate) fn flag(grads: &Gradients, place: usize) -> u64 {
    grads.present.as_ref().map_or(0, |words| words.address() + 4 * place as u64)
}

/// The number of a gradient's type, which is one that is [`trained`] in.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    crate::autocast::code(what, trained(what, grad.dtype())?)
}

/// There is `f32` arithmetic for bf16, f16 and f32 alone.
pub(crate) fn trained(what: &'static str, dtype: DType) -> Result<DType, Error> {
    binade_gpu::trained::<crate::Cuda>(what, dtype)
}
