//! The master as a sum of two: the parameter, and beside it, in the same type, what rounding the parameter cut off.
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
//! A parameter that overflows is infinite and stays so: its compensation is 0, since infinity less infinity is no number.
//! A NaN stays NaN.

use binade_core::Element;

/// The parameter and the compensation of a master.
#[inline(always)]
#[must_use]
pub fn split<C: Element>(master: f32) -> (C, C) {
    let parameter = C::from_f32(master);
    let missing = master - parameter.to_f32();
    (parameter, C::from_f32(if parameter.to_f32().is_finite() { missing } else { 0.0 }))
}

/// The master of a parameter and its compensation.
#[inline(always)]
#[must_use]
pub fn join<C: Element>(parameter: C, compensation: C) -> f32 {
    parameter.to_f32() + compensation.to_f32()
}
