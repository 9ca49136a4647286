//! Gradients as kernels are given them.

use crate::{Error, Gradients, Tensor};

/// The address of the word that says whether an entry is present, or 0 where the host knows that it is.
pub(crate) fn flag(grads: &Gradients, place: usize) -> u64 {
    grads.present.as_ref().map_or(0, |words| words.address() + 4 * place as u64)
}

/// The number of a gradient's type, which is one that there is `f32` arithmetic for.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    crate::autocast::code(what, binade_gpu::trained::<crate::Cuda>(what, grad.dtype())?)
}
