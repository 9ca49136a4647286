//! Master as a sum of two numbers of one type: the parameter, and a compensation, the part that rounding the parameter cut off.
//!
//! After Kahan (Further remarks on reducing truncation errors, Communications of the ACM 8(1), 1965), and for weights in
//! `bf16` after Zamirai, Zhang, Aberger and De Sa (Revisiting `BFloat16` training, arXiv 2010.06192, algorithm 2). A step
//! starts from `f32(parameter) + f32(compensation)` and comes to `m`; then
//!
//! ```text
//! parameter    = nearest_even(m)
//! compensation = nearest_even(m - f32(parameter))
//! ```
//!
//! Where this departs from the paper:
//!
//! * the step is in `f32`, with `f32` moments, rather than in `bf16`;
//! * the step starts from the compensated value, so that decay, too, shrinks what is kept and not what is rounded;
//! * the compensation is what is missing and not what is too much: it has the other sign.
//!
//! What it keeps: 17 bits of significand beside `bf16` and 23 beside `f16`, more where the parts are far apart. No `f16` is
//! finer than 2^-24, so that `f16` parameters below 2^-13 have nothing to be compensated with.
//!
//! A parameter that overflows is infinite and stays so: its compensation is 0, since infinity minus infinity is NaN. A NaN stays NaN.

use binade_core::Element;

/// The parameter and the compensation of a master.
#[inline(always)]
#[must_use]
pub(crate) fn split<C: Element>(master: f32) -> (C, C) {
    let parameter = C::from_f32(master);
    let missing = master - parameter.to_f32();
    (parameter, C::from_f32(if parameter.to_f32().is_finite() { missing } else { 0.0 }))
}

/// The master of a parameter and its compensation.
#[inline(always)]
#[must_use]
pub(crate) fn join<C: Element>(parameter: C, compensation: C) -> f32 {
    parameter.to_f32() + compensation.to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Returns the largest error of a master in [1, 2) whose parameter is a `C`.
    fn largest_error<C: Element>() -> f32 {
        let masters = (0..1 << 23).step_by(997).map(|low| f32::from_bits(0x3f80_0000 | low));
        let error = |master: f32| {
            let (parameter, missing) = split::<C>(master);
            (join(parameter, missing) - master).abs()
        };
        masters.map(error).fold(0.0, f32::max)
    }

    #[test]
    fn seventeen_bits_are_kept_beside_bf16_and_twenty_three_beside_f16() {
        assert!(largest_error::<bf16>() <= 2.0_f32.powi(-17));
        assert!(largest_error::<f16>() <= 2.0_f32.powi(-23));
    }
}
