//! The step's loop, compiled a second time for processors with fused multiply-add.
//!
//! `mul_add` is one instruction there. Elsewhere it is a call into the C library for each element, about ten times
//! slower, with the same result.
#![allow(unsafe_code, reason = "calling a function compiled for a feature that was just detected")]

use binade_core::Element;
use binade_master_weights::StepConstants;
use binade_master_weights::step::{self, Factor, LengthError, Slices};

/// One step over one block.
pub(super) fn step<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<(), LengthError> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the one obligation of a `target_feature` function is that the processor has the features it was
        // compiled for; both were detected on the line above.
        return unsafe { with_fma(constants, factor, slices) };
    }
    step::step(constants, factor, slices)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma,avx2")]
fn with_fma<G: Element, C: Element>(
    constants: &StepConstants,
    factor: Factor,
    slices: Slices<'_, G, C>,
) -> Result<(), LengthError> {
    step::step(constants, factor, slices)
}
