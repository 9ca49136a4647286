//! Arithmetic on f32, and conversions between it and the 16-bit types. Round to nearest even, subnormals kept, unless a suffix
//! says otherwise; NaN results are the canonical NaN that the ISA names (0x7fffffff, and 0x7fff in 16 bits).

use half::{bf16, f16};

use super::{
    Class::{W16, W32},
    Form,
    Kind::{From, To},
    Op,
};
use crate::module::Capability;

const ONE: &[super::Kind] = &[To(W32), From(W32)];
const TWO: &[super::Kind] = &[To(W32), From(W32), From(W32)];
const THREE: &[super::Kind] = &[To(W32), From(W32), From(W32), From(W32)];

pub(super) const FORMS: &[Form] = &[
    Form::new("add.rn.f32", TWO, Op::Two(add)),
    Form::new("sub.rn.f32", TWO, Op::Two(sub)),
    Form::new("mul.rn.f32", TWO, Op::Two(mul)),
    Form::new("div.rn.f32", TWO, Op::Two(|a, b| bits(value(a) / value(b)))),
    Form::new("fma.rn.f32", THREE, Op::Three(|a, b, c| bits(value(a).mul_add(value(b), value(c))))),
    Form::new("sqrt.rn.f32", ONE, Op::One(|a| bits(value(a).sqrt()))),
    Form::new("abs.f32", ONE, Op::One(|a| a & 0x7fff_ffff)),
    Form::new("neg.f32", ONE, Op::One(|a| a ^ 0x8000_0000)),
    Form::new(
        "cvt.f32.f16",
        &[To(W32), From(W16)],
        Op::One(|a| bits(f16::from_bits(low16(a)).to_f32())),
    ),
    Form::new("cvt.rn.f16.f32", &[To(W16), From(W32)], Op::One(to_f16)),
    Form::new("cvt.rn.bf16.f32", &[To(W16), From(W32)], Op::One(to_bf16)).since(Capability::SM_80),
    // Not reproducible, and refused unless asked for.
    Form::new("add.f32", TWO, Op::Two(add)),
    Form::new("sub.f32", TWO, Op::Two(sub)),
    Form::new("mul.f32", TWO, Op::Two(mul)),
    Form::new("add.ftz.f32", TWO, Op::Two(|a, b| flushed(add(flushed(a), flushed(b))))),
    Form::new("mul.ftz.f32", TWO, Op::Two(|a, b| flushed(mul(flushed(a), flushed(b))))),
];

fn add(a: u64, b: u64) -> u64 {
    bits(value(a) + value(b))
}

fn sub(a: u64, b: u64) -> u64 {
    bits(value(a) - value(b))
}

fn mul(a: u64, b: u64) -> u64 {
    bits(value(a) * value(b))
}

#[expect(clippy::cast_possible_truncation, reason = "a 32-bit register's bits")]
fn value(register: u64) -> f32 {
    f32::from_bits(register as u32)
}

fn bits(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

#[expect(clippy::cast_possible_truncation, reason = "a 16-bit register's bits")]
fn low16(register: u64) -> u16 {
    register as u16
}

fn to_f16(register: u64) -> u64 {
    let half = f16::from_f32(value(register));
    if half.is_nan() { 0x7fff } else { u64::from(half.to_bits()) }
}

fn to_bf16(register: u64) -> u64 {
    let half = bf16::from_f32(value(register));
    if half.is_nan() { 0x7fff } else { u64::from(half.to_bits()) }
}

/// Subnormals to a zero of the same sign.
fn flushed(register: u64) -> u64 {
    if value(register).is_subnormal() { register & 0x8000_0000 } else { register }
}
