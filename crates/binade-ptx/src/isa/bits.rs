//! Forms of logic, shifts and bit fields.
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
    Op, Values,
    lanes::{four, one, three, two},
};

const ONE_32: &[Kind] = &[To(W32), From(W32)];
const ONE_FROM_64: &[Kind] = &[To(W32), From(W64)];
const TWO_16: &[Kind] = &[To(W16), From(W16), From(W16)];
const TWO_32: &[Kind] = &[To(W32), From(W32), From(W32)];
const TWO_64: &[Kind] = &[To(W64), From(W64), From(W64)];
const TWO_P: &[Kind] = &[To(Predicate), From(Predicate), From(Predicate)];
const THREE_32: &[Kind] = &[To(W32), From(W32), From(W32), From(W32)];
const FOUR_32: &[Kind] = &[To(W32), From(W32), From(W32), From(W32), From(W32)];
/// Operands of a shift; its distance has 32 bits for every width.
const SHIFT_16: &[Kind] = &[To(W16), From(W16), From(W32)];
const SHIFT_64: &[Kind] = &[To(W64), From(W64), From(W32)];
const FIELD_64: &[Kind] = &[To(W64), From(W64), From(W32), From(W32)];

pub(super) const FORMS: &[Form] = &[
    Form::new("and.b16", TWO_16, two!(|a, b| a & b)),
    Form::new("and.b32", TWO_32, two!(|a, b| a & b)),
    Form::new("and.b64", TWO_64, two!(|a, b| a & b)),
    Form::new("and.pred", TWO_P, two!(|a, b| a & b)),
    Form::new("or.b16", TWO_16, two!(|a, b| a | b)),
    Form::new("or.b32", TWO_32, two!(|a, b| a | b)),
    Form::new("or.b64", TWO_64, two!(|a, b| a | b)),
    Form::new("or.pred", TWO_P, two!(|a, b| a | b)),
    Form::new("xor.b16", TWO_16, two!(|a, b| a ^ b)),
    Form::new("xor.b32", TWO_32, two!(|a, b| a ^ b)),
    Form::new("xor.b64", TWO_64, two!(|a, b| a ^ b)),
    Form::new("xor.pred", TWO_P, two!(|a, b| a ^ b)),
    Form::new("not.b16", &[To(W16), From(W16)], one!(|a| a ^ 0xffff)),
    Form::new("not.b32", ONE_32, one!(|a| a ^ 0xffff_ffff)),
    Form::new("not.b64", &[To(W64), From(W64)], one!(|a| !a)),
    Form::new("not.pred", &[To(Predicate), From(Predicate)], one!(|a| a ^ 1)),
    // The distance is not taken modulo the width: a shift by the width or more leaves zeros, or copies of the sign.
    Form::new("shl.b16", SHIFT_16, two!(|a, b| if b < 16 { a << b & 0xffff } else { 0 })),
    Form::new("shl.b32", TWO_32, two!(|a, b| if b < 32 { a << b & 0xffff_ffff } else { 0 })),
    Form::new("shl.b64", SHIFT_64, two!(|a, b| if b < 64 { a << b } else { 0 })),
    Form::new("shr.u16", SHIFT_16, two!(|a, b| if b < 16 { a >> b } else { 0 })),
    Form::new("shr.u32", TWO_32, two!(|a, b| if b < 32 { a >> b } else { 0 })),
    Form::new("shr.u64", SHIFT_64, two!(|a, b| if b < 64 { a >> b } else { 0 })),
    Form::new("shr.b32", TWO_32, two!(|a, b| if b < 32 { a >> b } else { 0 })),
    Form::new("shr.b64", SHIFT_64, two!(|a, b| if b < 64 { a >> b } else { 0 })),
    Form::new("shr.s16", SHIFT_16, two!(|a, b| u64::from((a as i16 >> b.min(15)) as u16))),
    Form::new("shr.s32", TWO_32, two!(|a, b| u64::from((a as i32 >> b.min(31)) as u32))),
    Form::new("shr.s64", SHIFT_64, two!(|a, b| (a as i64 >> b.min(63)) as u64)),
    // Upper, or lower, half of two words shifted as one: the first operand is the low word.
    Form::new("shf.l.wrap.b32", THREE_32, three!(|a, b, c| funnel_left(a, b, c & 31))),
    Form::new("shf.l.clamp.b32", THREE_32, three!(|a, b, c| funnel_left(a, b, c.min(32)))),
    Form::new("shf.r.wrap.b32", THREE_32, three!(|a, b, c| funnel_right(a, b, c & 31))),
    Form::new("shf.r.clamp.b32", THREE_32, three!(|a, b, c| funnel_right(a, b, c.min(32)))),
    Form::new("popc.b32", ONE_32, one!(|a| u64::from(a.count_ones()))),
    Form::new("popc.b64", ONE_FROM_64, one!(|a| u64::from(a.count_ones()))),
    Form::new("clz.b32", ONE_32, one!(|a| u64::from((a as u32).leading_zeros()))),
    Form::new("clz.b64", ONE_FROM_64, one!(|a| u64::from(a.leading_zeros()))),
    Form::new("brev.b32", ONE_32, one!(|a| u64::from((a as u32).reverse_bits()))),
    Form::new("brev.b64", &[To(W64), From(W64)], one!(u64::reverse_bits)),
    // `bfind` gives the place of the highest one, `shiftamt` its distance from the top; all bits set if there is none.
    Form::new(
        "bfind.u32",
        ONE_32,
        one!(|a| if a == 0 { 0xffff_ffff } else { u64::from(a.ilog2()) }),
    ),
    Form::new(
        "bfind.shiftamt.u32",
        ONE_32,
        one!(|a| if a == 0 { 0xffff_ffff } else { u64::from((a as u32).leading_zeros()) }),
    ),
    Form::new("bfe.u32", THREE_32, three!(|a, b, c| field(a, b & 255, c & 255))),
    Form::new("bfe.u64", FIELD_64, three!(|a, b, c| field(a, b & 255, c & 255))),
    Form::new("bfe.s32", THREE_32, three!(signed_field)),
    // The first operand goes into the second.
    Form::new("bfi.b32", FOUR_32, four!(|a, b, c, d| insert(a, b, c, d, 32))),
    Form::new(
        "bfi.b64",
        &[To(W64), From(W64), From(W64), From(W32), From(W32)],
        four!(|a, b, c, d| insert(a, b, c, d, 64)),
    ),
    Form::new(
        "lop3.b32",
        &[To(W32), From(W32), From(W32), From(W32), Kind::Literal(W32)],
        four!(any_logic),
    ),
    Form::new("prmt.b32", THREE_32, three!(permute)),
];

/// Returns the upper word of `high:low << by`.
fn funnel_left(low: u64, high: u64, by: u64) -> u64 {
    (high << 32 | low) << by >> 32 & 0xffff_ffff
}

/// Returns the lower word of `high:low >> by`.
fn funnel_right(low: u64, high: u64, by: u64) -> u64 {
    (high << 32 | low) >> by & 0xffff_ffff
}

/// Returns `length` bits from `place` on.
fn field(a: u64, place: u64, length: u64) -> u64 {
    let shifted = if place < 64 { a >> place } else { 0 };
    if length < 64 { shifted & ((1 << length) - 1) } else { shifted }
}

/// Returns the field, sign-extended by its highest bit, or by the word's if the field reaches beyond it.
fn signed_field(a: u64, place: u64, length: u64) -> u64 {
    let (place, length) = (place & 255, length & 255);
    if length == 0 {
        return 0;
    }
    let sign = a >> (place + length - 1).min(31) & 1;
    let above = if length < 32 { u64::MAX << length } else { 0 };
    let beyond = u64::MAX << (32 - place.min(32)).min(63);
    let filled = if sign == 1 { above | beyond } else { 0 };
    (field(a, place, length) | filled) & 0xffff_ffff
}

/// Puts the low `length` bits of `a` into `b`, from `place` on. Bits beyond the top are dropped.
fn insert(a: u64, b: u64, place: u64, length: u64, width: u64) -> u64 {
    let (place, length) = (place & 255, length & 255);
    if place >= width {
        return b;
    }
    let ones = if length < 64 { (1 << length) - 1 } else { u64::MAX };
    let mask = ones << place & (u64::MAX >> (64 - width));
    b & !mask | a << place & mask
}

/// Applies a truth table bit by bit: the bits of `a`, `b` and `c` choose its row.
fn any_logic(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let row = |index: u64| if table >> index & 1 == 1 { u64::MAX } else { 0 };
    let side = |value: u64, is_set: bool| if is_set { value } else { !value };
    let cell = |i: u64| {
        row(i) & side(a, i & 4 != 0) & side(b, i & 2 != 0) & side(c, i & 1 != 0) & 0xffff_ffff
    };
    (0..8).fold(0, |result, index| result | cell(index))
}

/// Returns four bytes of the eight in `b:a`, each chosen by a digit; a digit above 7 spreads the byte's sign.
fn permute(a: u64, b: u64, digits: u64) -> u64 {
    let bytes = b << 32 | a;
    let byte = |digit: u64| {
        let byte = bytes >> (8 * (digit & 7)) & 255;
        if digit & 8 == 0 { byte } else { (byte >> 7) * 255 }
    };
    (0..4).fold(0, |result, place| result | byte(digits >> (4 * place) & 15) << (8 * place))
}
