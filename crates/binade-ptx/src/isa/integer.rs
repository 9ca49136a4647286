//! Integer arithmetic, logic, comparison and selection.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Class::{Predicate, W16, W32, W64},
    Form,
    Kind::{self, From, To},
    Op,
};

const TWO_16: &[Kind] = &[To(W16), From(W16), From(W16)];
const TWO_32: &[Kind] = &[To(W32), From(W32), From(W32)];
const TWO_64: &[Kind] = &[To(W64), From(W64), From(W64)];
const TWO_P: &[Kind] = &[To(Predicate), From(Predicate), From(Predicate)];
const WIDE: &[Kind] = &[To(W64), From(W32), From(W32)];
const SET_16: &[Kind] = &[To(Predicate), From(W16), From(W16)];
const SET_32: &[Kind] = &[To(Predicate), From(W32), From(W32)];
const SELECT_16: &[Kind] = &[To(W16), From(W16), From(W16), From(Predicate)];
const SELECT_32: &[Kind] = &[To(W32), From(W32), From(W32), From(Predicate)];

pub(super) const FORMS: &[Form] = &[
    Form::new("add.s32", TWO_32, Op::Two(|a, b| low(a.wrapping_add(b)))),
    Form::new("add.s64", TWO_64, Op::Two(u64::wrapping_add)),
    Form::new("sub.s32", TWO_32, Op::Two(|a, b| low(a.wrapping_sub(b)))),
    Form::new("mul.lo.s32", TWO_32, Op::Two(|a, b| low(a.wrapping_mul(b)))),
    Form::new("mul.wide.u32", WIDE, Op::Two(|a, b| a * b)),
    Form::new("mul.wide.s32", WIDE, Op::Two(|a, b| (signed(a) * signed(b)) as u64)),
    Form::new(
        "mad.lo.s32",
        &[To(W32), From(W32), From(W32), From(W32)],
        Op::Three(|a, b, c| low(a.wrapping_mul(b).wrapping_add(c))),
    ),
    Form::new("and.b16", TWO_16, Op::Two(|a, b| a & b)),
    Form::new("and.b32", TWO_32, Op::Two(|a, b| a & b)),
    Form::new("and.pred", TWO_P, Op::Two(|a, b| a & b)),
    Form::new("or.b16", TWO_16, Op::Two(|a, b| a | b)),
    Form::new("or.b32", TWO_32, Op::Two(|a, b| a | b)),
    Form::new("or.pred", TWO_P, Op::Two(|a, b| a | b)),
    Form::new("not.pred", &[To(Predicate), From(Predicate)], Op::One(|a| a ^ 1)),
    // A shift by the width or more gives zero, not a shift by the remainder.
    Form::new("shl.b32", TWO_32, Op::Two(|a, b| if b < 32 { low(a << b) } else { 0 })),
    Form::new("shr.u32", TWO_32, Op::Two(|a, b| if b < 32 { a >> b } else { 0 })),
    Form::new("setp.eq.s16", SET_16, Op::Two(|a, b| u64::from(a == b))),
    Form::new("setp.ne.s16", SET_16, Op::Two(|a, b| u64::from(a != b))),
    Form::new("setp.eq.s32", SET_32, Op::Two(|a, b| u64::from(a == b))),
    Form::new("setp.ne.s32", SET_32, Op::Two(|a, b| u64::from(a != b))),
    Form::new("setp.lt.s32", SET_32, Op::Two(|a, b| u64::from(signed(a) < signed(b)))),
    Form::new("setp.ge.s32", SET_32, Op::Two(|a, b| u64::from(signed(a) >= signed(b)))),
    Form::new("setp.lt.u32", SET_32, Op::Two(|a, b| u64::from(a < b))),
    Form::new("setp.gt.u32", SET_32, Op::Two(|a, b| u64::from(a > b))),
    Form::new("setp.ge.u32", SET_32, Op::Two(|a, b| u64::from(a >= b))),
    Form::new("selp.u16", SELECT_16, Op::Three(select)),
    Form::new("selp.b32", SELECT_32, Op::Three(select)),
    Form::new("selp.u32", SELECT_32, Op::Three(select)),
];

fn low(value: u64) -> u64 {
    value & 0xffff_ffff
}

fn signed(register: u64) -> i64 {
    i64::from(register as u32 as i32)
}

fn select(a: u64, b: u64, predicate: u64) -> u64 {
    if predicate == 1 { a } else { b }
}
