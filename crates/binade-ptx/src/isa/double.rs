//! Forms of arithmetic on f64. They round to nearest even; f64 has no flushing forms.

use super::{
    Class::W64,
    Form,
    Kind::{From, To},
    Op, Values,
    lanes::{one, three, two},
    number::{f64_of, of_f64},
};

const ONE: &[super::Kind] = &[To(W64), From(W64)];
const TWO: &[super::Kind] = &[To(W64), From(W64), From(W64)];
const THREE: &[super::Kind] = &[To(W64), From(W64), From(W64), From(W64)];
const SIGN: u64 = 1 << 63;

pub(super) const FORMS: &[Form] = &[
    Form::new("add.rn.f64", TWO, two!(add)),
    Form::new("sub.rn.f64", TWO, two!(sub)),
    Form::new("mul.rn.f64", TWO, two!(mul)),
    Form::new("div.rn.f64", TWO, two!(|a, b| of_f64(f64_of(a) / f64_of(b)))),
    Form::new("fma.rn.f64", THREE, three!(fma)),
    Form::new("sqrt.rn.f64", ONE, one!(|a| of_f64(f64_of(a).sqrt()))),
    Form::new("rcp.rn.f64", ONE, one!(|a| of_f64(1.0 / f64_of(a)))),
    Form::new("abs.f64", ONE, one!(|a| a & !SIGN)),
    Form::new("neg.f64", ONE, one!(|a| a ^ SIGN)),
    Form::new("copysign.f64", TWO, two!(|a, b| (a & SIGN) | (b & !SIGN))),
    Form::new("min.f64", TWO, two!(|a, b| of_f64(least(f64_of(a), f64_of(b))))),
    Form::new("max.f64", TWO, two!(|a, b| of_f64(most(f64_of(a), f64_of(b))))),
    // Not reproducible, and refused unless asked for.
    Form::new("add.f64", TWO, two!(add)),
    Form::new("sub.f64", TWO, two!(sub)),
    Form::new("mul.f64", TWO, two!(mul)),
];

fn add(a: u64, b: u64) -> u64 {
    of_f64(f64_of(a) + f64_of(b))
}

fn sub(a: u64, b: u64) -> u64 {
    of_f64(f64_of(a) - f64_of(b))
}

fn mul(a: u64, b: u64) -> u64 {
    of_f64(f64_of(a) * f64_of(b))
}

fn fma(a: u64, b: u64, c: u64) -> u64 {
    of_f64(f64_of(a).mul_add(f64_of(b), f64_of(c)))
}

/// Returns the lesser number: NaN only if both are; -0 is less than +0.
fn least(a: f64, b: f64) -> f64 {
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

fn most(a: f64, b: f64) -> f64 {
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}
