//! Arithmetic of a step on plain slices. Every host path uses it, and every kernel repeats it.
//!
//! One function in each rule's file computes one element; the rest lends it slices. `mul_add` stands exactly where PyTorch's CPU loops contract a
//! product and a sum into one rounding (`_single_tensor_sgd`, `_single_tensor_adam` of 2.15), and nowhere else, so that results agree with torch's to
//! the bit, given a square root that is rounded correctly.
//!
//! Everything is `#[inline(always)]`, so that a caller can put it under a `#[target_feature]` of its own: without
//! hardware FMA, `mul_add` is a function call for each element, with the same result. Such a function must call [`step`]
//! itself, or by functions that are `#[inline(always)]` too: a closure that is passed to it may be compiled apart, without its
//! features.
//!
//! The caller decides whether a step is skipped: nothing here reads flags.
//!
//! ```
//! use binade_master_weights::step::{Factor, Params, Slices, step};
//! use binade_master_weights::{StepConstants, UpdateRule};
//! use half::{bf16, f16};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rule = UpdateRule::adamw(0.01);
//! let (mut masters, mut weights) = ([1.0_f32; 4], [bf16::ONE; 4]);
//! let (mut mean, mut square) = ([0.0; 4], [0.0; 4]);
//! let scaled_grads = [f16::from_f32(256.0); 4];
//!
//! let slices = Slices {
//!     grads: &scaled_grads,
//!     params: Params::Copy { master: &mut masters, low: &mut weights },
//!     moments: [&mut mean, &mut square, &mut []],
//! };
//! let factor = Factor { inverse: 1.0 / 1024.0, clip: 1.0 };
//! step(&StepConstants::at(&rule, 0), factor, slices)?;
//!
//! assert_eq!(masters, [0.9899; 4]);
//! assert_eq!(weights, masters.map(bf16::from_f32));
//! # Ok(())
//! # }
//! ```

mod params;
mod slices;
#[cfg(test)]
mod tests;

use crate::{StepConstants, Sums};
use binade_core::Element;
pub use params::Params;
pub(crate) use params::{lower, of_compensation, of_remainder};
pub use slices::{LengthError, Slices};
use slices::{NORMS, same};

/// Factors that turn a stored gradient into an unscaled and clipped one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The reciprocal of the scale the gradient was made with.
    pub inverse: f32,
    /// The clip factor, for gradients already unscaled.
    pub clip: f32,
}

impl Factor {
    /// Leaves gradients unchanged.
    pub const ONE: Self = Self { inverse: 1.0, clip: 1.0 };

    /// Unscales, then clips: two roundings, as torch's two passes. A factor of 1 changes no bit of any number.
    #[inline(always)]
    pub fn apply(self, grad: f32) -> f32 {
        (grad * self.inverse) * self.clip
    }
}

/// Elements worked on at once: few enough that parameters, widened, stay in the cache.
const BLOCK: usize = 256;

/// Applies one step: widens and unscales gradients, updates moments and parameters, and saves the store's data.
///
/// Elements are independent, so slices may be split among threads in any way with the same result.
///
/// # Errors
///
/// Slices of different lengths, moments that do not fit the rule, or a rule whose norms were not [measured](measure); nothing was changed
/// then.
#[inline(always)]
pub fn step<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<(), LengthError> {
    slices.check(constants.moments())?;
    same(NORMS, 0, usize::from(constants.measures()))?;
    let mut values = [0.0_f32; BLOCK];
    let mut rest = slices;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(BLOCK);
        let len = block.len();
        step_block(constants, factor, block, &mut values[..len]);
        rest = after;
    }
    Ok(())
}

/// Measures a tensor for a rule whose step needs its norms, and moves the moments where the rule does so before it knows the norms. Parameters are
/// unchanged. [`StepConstants::measured`] takes the sums, and returns the constants that [`step`] takes.
///
/// A tensor may be split at multiples of 256 elements: the sums of its parts are then appended in the order of elements.
///
/// # Errors
///
/// Slices of different lengths, or moments that do not fit the rule; nothing was changed then.
#[inline(always)]
pub fn measure<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<Sums, LengthError> {
    slices.check(constants.moments())?;
    let (mut values, mut sums) = ([0.0_f32; BLOCK], Sums::default());
    let mut rest = slices;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(BLOCK);
        let len = block.len();
        let grads = block.grads.iter().map(|grad| factor.apply(grad.to_f32()));
        let (params, _) = block.params.open(&mut values[..len]);
        sums.append(constants.measure(grads, params, block.moments));
        rest = after;
    }
    Ok(sums)
}

/// Takes the pass that `constants` need: [`measure`] where norms are missing, and otherwise [`step`], whose sums are empty.
///
/// # Errors
///
/// The errors of [`measure`] and of [`step`].
#[inline(always)]
pub fn pass<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<Sums, LengthError> {
    if constants.measures() {
        return measure(constants, factor, slices);
    }
    step(constants, factor, slices)?;
    Ok(Sums::default())
}

#[inline(always)]
fn step_block<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    block: Slices<'_, G, C>,
    scratch: &mut [f32],
) {
    // Gradients are widened in registers: this iterator is inlined into the loop of the rule.
    let grads = block.grads.iter().map(|grad| factor.apply(grad.to_f32()));
    let (values, params) = block.params.open(scratch);
    constants.update(grads, values, block.moments);
    params.save(values);
}
