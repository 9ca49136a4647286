//! Gradients in the layout of shaders.

use crate::{
    Error, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{code, count},
    },
};

/// Returns the words that record which entries are present.
pub(crate) fn flags(grads: &Gradients, wgpu: &Wgpu) -> Result<Bound, Error> {
    Ok(Bound::whole(grads.present.as_ref().unwrap_or(&wgpu.fixed()?.there)))
}

/// Returns the index of an entry's word among [`flags`].
pub(crate) fn flag(grads: &Gradients, place: usize) -> u32 {
    if grads.present.is_some() { count(place) } else { 0 }
}

/// Returns the pending factors of the values.
pub(crate) fn pending_factors(grads: &Gradients, wgpu: &Wgpu) -> Result<Bound, Error> {
    grads.pending_factors(wgpu).map(Bound::whole)
}

/// Returns the code of a gradient's type, which must be one with `f32` arithmetic.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    code(what, grad.dtype())
}
