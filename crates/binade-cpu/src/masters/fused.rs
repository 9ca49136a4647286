//! Fused step: reads a gradient once, multiplies, updates, and writes the low-precision copy.

use crate::{
    Error, Stored, Tensor,
    parallel::{self, BLOCK, is_worth_threads},
    simd::{self, Loop},
};
use binade_core::{DType, Element};
use binade_master_weights::step::{self, Factor, LengthError, Slices};
use binade_master_weights::{HostParamState, StepConstants, Sums};
use half::{bf16, f16};

/// Operands of one parameter's step.
pub(super) struct Move<'a> {
    pub(super) constants: StepConstants,
    pub(super) grad: &'a Tensor,
    pub(super) param: &'a mut Tensor,
    pub(super) slot: &'a mut HostParamState,
}

/// Parameters of more than all elements over this and over the number of threads are stepped by all threads.
const SHARES: usize = 8;

/// Steps all parameters. Elements are independent, and norms are added up in the order of elements, so the result does not depend on blocks or
/// threads.
pub(super) fn step_all(mut moves: Vec<Move<'_>>, factor: Factor) -> Result<(), Error> {
    if moves.iter().any(|one| one.constants.clips()) {
        let norm = norm_of(&moves, factor);
        for one in &mut moves {
            one.constants = one.constants.clipped(norm);
        }
    }
    let elements: usize = moves.iter().map(|one| one.grad.len()).sum();
    if !is_worth_threads(elements) {
        return moves.into_iter().try_for_each(|one| one.step(factor));
    }
    let share = elements / SHARES / rayon::current_num_threads();
    let (large, small): (Vec<_>, Vec<_>) =
        moves.into_iter().partition(|one| one.grad.len() > share);
    large.into_iter().try_for_each(|one| one.step(factor))?;
    parallel::map(small.into_iter(), |one| one.step(factor)).into_iter().collect()
}

impl Move<'_> {
    /// Returns the sums of the squares of its gradient.
    fn squares(&self, factor: Factor) -> Sums {
        fn of<G: Element + Stored>(grad: &Tensor, factor: Factor) -> Sums {
            let grads = grad.as_slice::<G>().unwrap_or_default();
            Sums::of_grads(grads.iter().map(|grad| factor.apply(grad.to_f32())))
        }
        match self.grad.dtype() {
            DType::BF16 => of::<bf16>(self.grad, factor),
            DType::F16 => of::<f16>(self.grad, factor),
            _ => of::<f32>(self.grad, factor),
        }
    }

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
        slot.step((&constants, factor), grads, low, |constants, slices| {
            run(constants, factor, slices)
        })
    }
}

fn run<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<Sums, Error> {
    let step = |slices| Ok(simd::widest(Step { constants, factor, slices })?);
    if slices.len() <= BLOCK {
        return step(slices);
    }
    let (mut blocks, mut rest) = (Vec::new(), slices);
    while !rest.is_empty() {
        let (block, after) = rest.split_at(BLOCK);
        blocks.push(block);
        rest = after;
    }
    let mut all = Sums::default();
    for sums in parallel::map(blocks.into_iter(), step) {
        all.append(sums?);
    }
    Ok(all)
}

/// Returns the norm of all gradients together.
fn norm_of(moves: &[Move<'_>], factor: Factor) -> f32 {
    let mut all = Sums::default();
    for sums in parallel::map(moves.iter(), |one| one.squares(factor)) {
        all.append(sums);
    }
    all.norm()
}

/// Pass over one block.
struct Step<'a, G, C> {
    constants: &'a StepConstants,
    factor: Factor,
    slices: Slices<'a, G, C>,
}

impl<G: Element, C: Element> Loop for Step<'_, G, C> {
    type Output = Result<Sums, LengthError>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        step::pass(self.constants, self.factor, self.slices)
    }
}
