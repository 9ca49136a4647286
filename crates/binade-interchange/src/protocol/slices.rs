//! Unscaling of host slices: torch's kernel as one loop.

use super::ProtocolError;
use binade_core::{DType, Element};

/// Multiplies every gradient by `inverse`. Returns the flag, set if one was not finite before; `None` if there are no gradients.
///
/// As in torch, the check comes before the multiplication, and the multiplication is always done.
pub(super) fn unscale<E: Element>(
    grads: &mut [Option<&mut [E]>],
    inverse: f32,
) -> Result<Option<f32>, ProtocolError> {
    let mut found = None;
    for grad in grads.iter_mut().flatten() {
        if E::DTYPE == DType::F16 {
            return Err(ProtocolError::F16Gradients);
        }
        let raised = unscale_one(grad, inverse);
        *found.get_or_insert(0.0) += f32::from(u8::from(raised));
    }
    Ok(found.map(|sum: f32| sum.min(1.0)))
}

fn unscale_one<E: Element>(grad: &mut [E], inverse: f32) -> bool {
    let raised = grad.iter().any(|g| !g.to_f32().is_finite());
    if inverse != 1.0 {
        scale(grad, inverse);
    }
    raised
}

/// Multiplies every element by `scale` in `f32` and rounds back to the element's own type.
pub(super) fn scale<E: Element>(outputs: &mut [E], scale: f32) {
    for x in outputs {
        *x = E::from_f32(x.to_f32() * scale);
    }
}
