//! The fused step: reads a gradient once, multiplies, updates, and writes the low-precision copy.

use super::simd;
use crate::{Error, Tensor, parallel::BLOCK};
use binade_core::{DType, Element};
use binade_master_weights::step::{Factor, Slices};
use binade_master_weights::{Slot, StepConstants};
use half::{bf16, f16};

/// One parameter's step. Elements are independent, so that neither blocks nor threads show in the result.
pub(super) fn step(
    constants: &StepConstants,
    factor: Factor,
    grad: &Tensor,
    param: &mut Tensor,
    slot: &mut Slot,
) -> Result<(), Error> {
    match grad.dtype() {
        DType::BF16 => with_grad::<bf16>(constants, factor, grad, param, slot)?,
        DType::F16 => with_grad::<f16>(constants, factor, grad, param, slot)?,
        _ => with_grad::<f32>(constants, factor, grad, param, slot)?,
    }
    slot.applied += 1;
    Ok(())
}

fn with_grad<G: Element + crate::Stored>(
    constants: &StepConstants,
    factor: Factor,
    grad: &Tensor,
    param: &mut Tensor,
    slot: &mut Slot,
) -> Result<(), Error> {
    let grad = grad.as_slice::<G>().unwrap_or_default();
    match param.dtype() {
        DType::BF16 => with_copy::<G, bf16>(constants, factor, grad, param, slot),
        DType::F16 => with_copy::<G, f16>(constants, factor, grad, param, slot),
        _ => {
            let values = param.as_mut_slice::<f32>().unwrap_or_default();
            let mut slices = Slices::<G, f32>::new(grad, values);
            slices.moments = slot.moments.each_mut().map(Vec::as_mut_slice);
            run(constants, factor, slices)
        }
    }
}

/// A low-precision parameter with its master; where none is kept, with its own values, widened for this step alone.
fn with_copy<G: Element, C: Element + crate::Stored>(
    constants: &StepConstants,
    factor: Factor,
    grad: &[G],
    param: &mut Tensor,
    slot: &mut Slot,
) -> Result<(), Error> {
    let mut own = match slot.master {
        Some(_) => Vec::new(),
        None => param.to_f32().into_owned(),
    };
    let master = slot.master.as_mut().unwrap_or(&mut own);
    let mut slices = Slices::<G, C>::new(grad, master);
    slices.moments = slot.moments.each_mut().map(Vec::as_mut_slice);
    slices.copy = param.as_mut_slice::<C>();
    run(constants, factor, slices)
}

fn run<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<(), Error> {
    if slices.params.len() <= BLOCK {
        return Ok(simd::step(constants, factor, slices)?);
    }
    // Halves at a block's edge, so that rayon may split further.
    let middle = (slices.params.len() / 2).next_multiple_of(BLOCK);
    let (left, right) = slices.split_at(middle);
    let (left, right) =
        rayon::join(|| run(constants, factor, left), || run(constants, factor, right));
    left.and(right)
}
