//! Gradients as shaders are given them.

use crate::{
    Error, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{code, count},
    },
};

/// The words that say which entries are present.
pub(crate) fn flags(grads: &Gradients, wgpu: &Wgpu) -> Result<Bound, Error> {
    Ok(Bound::whole(grads.present.as_ref().unwrap_or(&wgpu.fixed()?.there)))
}

/// The index of an entry's word among [`flags`].
pub(crate) fn flag(grads: &Gradients, place: usize) -> u32 {
    if grads.present.is_some() { count(place) } else { 0 }
}

/// The factors that the values are still to be multiplied by.
pub(crate) fn pending_factors(grads: &Gradients, wgpu: &Wgpu) -> Result<Bound, Error> {
    grads.pending_factors(wgpu).map(Bound::whole)
}

/// The number of a gradient's type, which is one that there is `f32` arithmetic for.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    code(what, grad.dtype())
}
