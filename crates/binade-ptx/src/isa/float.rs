//! Forms of arithmetic on f32. They round to nearest even and keep subnormals, unless a suffix says otherwise.

use super::{
    Class::W32,
    Form,
    Kind::{From, To},
    Op, Values,
    lanes::{one, three, two},
    number::{f32_of, of_f32},
};
use crate::module::Capability;

const ONE: &[super::Kind] = &[To(W32), From(W32)];
const TWO: &[super::Kind] = &[To(W32), From(W32), From(W32)];
const THREE: &[super::Kind] = &[To(W32), From(W32), From(W32), From(W32)];

pub(super) const FORMS: &[Form] = &[
    Form::new("add.rn.f32", TWO, two!(add)),
    Form::new("sub.rn.f32", TWO, two!(sub)),
    Form::new("mul.rn.f32", TWO, two!(mul)),
    Form::new("div.rn.f32", TWO, two!(|a, b| of_f32(f32_of(a) / f32_of(b)))),
    Form::new("fma.rn.f32", THREE, three!(fma)),
    Form::new("sqrt.rn.f32", ONE, one!(|a| of_f32(f32_of(a).sqrt()))),
    Form::new("rcp.rn.f32", ONE, one!(|a| of_f32(1.0 / f32_of(a)))),
    Form::new("abs.f32", ONE, one!(|a| a & 0x7fff_ffff)),
    Form::new("neg.f32", ONE, one!(|a| a ^ 0x8000_0000)),
    // The sign of the first operand, the rest of the second.
    Form::new("copysign.f32", TWO, two!(|a, b| (a & 0x8000_0000) | (b & 0x7fff_ffff))),
    Form::new("min.f32", TWO, two!(|a, b| of_f32(least(f32_of(a), f32_of(b))))),
    Form::new("max.f32", TWO, two!(|a, b| of_f32(most(f32_of(a), f32_of(b))))),
    Form::new("min.NaN.f32", TWO, two!(|a, b| or_nan(a, b, least))).since(Capability::SM_80),
    Form::new("max.NaN.f32", TWO, two!(|a, b| or_nan(a, b, most))).since(Capability::SM_80),
    // Not reproducible, and refused unless asked for.
    Form::new("add.f32", TWO, two!(add)),
    Form::new("sub.f32", TWO, two!(sub)),
    Form::new("mul.f32", TWO, two!(mul)),
    Form::new("add.ftz.f32", TWO, two!(|a, b| flushed(add(flushed(a), flushed(b))))),
    Form::new("mul.ftz.f32", TWO, two!(|a, b| flushed(mul(flushed(a), flushed(b))))),
];

fn add(a: u64, b: u64) -> u64 {
    of_f32(f32_of(a) + f32_of(b))
}

fn sub(a: u64, b: u64) -> u64 {
    of_f32(f32_of(a) - f32_of(b))
}

fn mul(a: u64, b: u64) -> u64 {
    of_f32(f32_of(a) * f32_of(b))
}

fn fma(a: u64, b: u64, c: u64) -> u64 {
    of_f32(f32_of(a).mul_add(f32_of(b), f32_of(c)))
}

/// Returns the lesser number: NaN only if both are; -0 is less than +0.
fn least(a: f32, b: f32) -> f32 {
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

fn most(a: f32, b: f32) -> f32 {
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

fn or_nan(a: u64, b: u64, pick: fn(f32, f32) -> f32) -> u64 {
    let (a, b) = (f32_of(a), f32_of(b));
    of_f32(if a.is_nan() || b.is_nan() { f32::NAN } else { pick(a, b) })
}

/// Returns a zero of the same sign for a subnormal, else the number.
fn flushed(register: u64) -> u64 {
    if f32_of(register).is_subnormal() { register & 0x8000_0000 } else { register }
}
