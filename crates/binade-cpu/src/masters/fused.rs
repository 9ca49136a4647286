//! Fused step: reads a gradient once, multiplies, updates, and writes the low-precision copy.

use crate::{
    Error, Stored, Tensor,
    parallel::{self, BLOCK, Half, is_worth_threads},
    simd::{self, Loop},
};
use binade_core::{DType, Element};
use binade_master_weights::step::{self, Factor, LengthError, Slices};
use binade_master_weights::{HostParamState, StepConstants};
use half::{bf16, f16};
use rayon::prelude::*;

/// Operands of one parameter's step.
pub(super) struct Move<'a> {
    pub(super) constants: StepConstants,
    pub(super) grad: &'a Tensor,
    pub(super) param: &'a mut Tensor,
    pub(super) slot: &'a mut HostParamState,
}

/// Steps all parameters. Elements are independent, so that neither blocks nor threads show in the result.
pub(super) fn step_all(moves: Vec<Move<'_>>, factor: Factor) -> Result<(), Error> {
    let elements: usize = moves.iter().map(|one| one.grad.len()).sum();
    if is_worth_threads(elements) {
        moves.into_par_iter().try_for_each(|one| one.step(factor))
    } else {
        moves.into_iter().try_for_each(|one| one.step(factor))
    }
}

impl Move<'_> {
    fn step(self, factor: Factor) -> Result<(), Error> {
        match self.grad.dtype() {
            DType::BF16 => self.with_grad::<bf16>(factor),
            DType::F16 => self.with_grad::<f16>(factor),
            _ => self.with_grad::<f32>(factor),
        }
    }

    fn with_grad<G: Element + Stored>(self, factor: Factor) -> Result<(), Error> {
        match self.param.dtype() {
            DType::BF16 => self.with_param::<G, bf16>(factor),
            DType::F16 => self.with_param::<G, f16>(factor),
            _ => self.with_param::<G, f32>(factor),
        }
    }

    fn with_param<G: Element + Stored, C: Element + Stored>(
        self,
        factor: Factor,
    ) -> Result<(), Error> {
        let Self { constants, grad, param, slot } = self;
        let grads = grad.as_slice::<G>().unwrap_or_default();
        let low = param.as_mut_slice::<C>().unwrap_or_default();
        slot.step((&constants, factor), grads, low, |slices| run(&constants, factor, slices))
    }
}

fn run<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<(), Error> {
    if slices.len() <= BLOCK {
        return Ok(simd::widest(Step { constants, factor, slices })?);
    }
    // The halves meet at a block's edge, so that rayon may split further. Both have at least one element, since half of more than
    // one block, rounded up to whole blocks, is less than all of it.
    let middle = (slices.len() / 2).next_multiple_of(BLOCK);
    let (left, right) = slices.split_at(middle);
    let half = |slices| -> Half<'_> { Box::new(move || run(constants, factor, slices)) };
    parallel::join(half(left), half(right))
}

/// Step of one block.
struct Step<'a, G, C> {
    constants: &'a StepConstants,
    factor: Factor,
    slices: Slices<'a, G, C>,
}

impl<G: Element, C: Element> Loop for Step<'_, G, C> {
    type Output = Result<(), LengthError>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        step::step(self.constants, self.factor, self.slices)
    }
}
