//! Forms of conversion. Integers give their low bits, or are extended by their sign; to floats the nearest, ties to even; from
//! floats as the suffix rounds, clamped to the range.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "a register's low bits, read as the type that the form names, and the conversion that it names"
)]

use half::{bf16, f16};

use super::{
    Class::{W16, W32, W64},
    Form,
    Kind::{From, FromWider, To},
    Op, Values,
    lanes::{one, two},
    number::{f32_of, f64_of, low16, of_bf16, of_f16, of_f32, of_f64},
};
use crate::module::Capability;

/// Conversions from every other integer type to the one named first, and from it to floats.
macro_rules! integers {
    ($to:literal, $class:ident, $u:ty: $($from:literal $from_class:ident $t:ty),+) => {
        &[$(Form::new(concat!("cvt.", $to, ".", $from), &[To($class), FromWider($from_class)], one!(|a| a as $t as $u as u64))),+]
    };
}

macro_rules! to_floats {
    ($($from:literal $class:ident $t:ty),+) => {
        &[$(
            Form::new(concat!("cvt.rn.f32.", $from), &[To(W32), From($class)], one!(|a| of_f32(a as $t as f32))),
            Form::new(concat!("cvt.rn.f64.", $from), &[To(W64), From($class)], one!(|a| of_f64(a as $t as f64))),
        )+]
    };
}

/// Conversions of floats to integers. A NaN gives 0 from f32 to 32 bits, and else the number whose highest bit alone is set.
macro_rules! from_floats {
    ($mode:literal, $round:ident) => {
        &[
            Form::new(
                concat!("cvt.", $mode, ".u32.f32"),
                &[To(W32), From(W32)],
                one!(|a| f32_of(a).$round() as u32 as u64),
            ),
            Form::new(
                concat!("cvt.", $mode, ".s32.f32"),
                &[To(W32), From(W32)],
                one!(|a| f32_of(a).$round() as i32 as u32 as u64),
            ),
            Form::new(
                concat!("cvt.", $mode, ".u64.f32"),
                &[To(W64), From(W32)],
                one!(|a| or_top(f32_of(a).is_nan(), f32_of(a).$round() as u64, 64)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".s64.f32"),
                &[To(W64), From(W32)],
                one!(|a| or_top(f32_of(a).is_nan(), f32_of(a).$round() as i64 as u64, 64)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".u32.f64"),
                &[To(W32), From(W64)],
                one!(|a| or_top(f64_of(a).is_nan(), f64_of(a).$round() as u32 as u64, 32)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".s32.f64"),
                &[To(W32), From(W64)],
                one!(|a| or_top(f64_of(a).is_nan(), f64_of(a).$round() as i32 as u32 as u64, 32)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".u64.f64"),
                &[To(W64), From(W64)],
                one!(|a| or_top(f64_of(a).is_nan(), f64_of(a).$round() as u64, 64)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".s64.f64"),
                &[To(W64), From(W64)],
                one!(|a| or_top(f64_of(a).is_nan(), f64_of(a).$round() as i64 as u64, 64)),
            ),
            Form::new(
                concat!("cvt.", $mode, ".f32.f32"),
                &[To(W32), From(W32)],
                one!(|a| of_f32(f32_of(a).$round())),
            ),
            Form::new(
                concat!("cvt.", $mode, ".f64.f64"),
                &[To(W64), From(W64)],
                one!(|a| of_f64(f64_of(a).$round())),
            ),
        ]
    };
}

fn or_top(is_nan: bool, value: u64, width: u32) -> u64 {
    if is_nan { 1 << (width - 1) } else { value }
}

pub(super) const FORMS: &[&[Form]] = &[
    integers!("u16", W16, u16: "u8" W16 u8, "s8" W16 i8, "u32" W32 u32, "s32" W32 i32, "u64" W64 u64, "s64" W64 i64),
    integers!("s16", W16, u16: "u8" W16 u8, "s8" W16 i8, "u32" W32 u32, "s32" W32 i32, "u64" W64 u64, "s64" W64 i64),
    integers!("u32", W32, u32: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u64" W64 u64, "s64" W64 i64),
    integers!("s32", W32, u32: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u64" W64 u64, "s64" W64 i64),
    integers!("u64", W64, u64: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u32" W32 u32, "s32" W32 i32),
    integers!("s64", W64, u64: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u32" W32 u32, "s32" W32 i32),
    to_floats!("u16" W16 u16, "s16" W16 i16, "u32" W32 u32, "s32" W32 i32, "u64" W64 u64, "s64" W64 i64),
    from_floats!("rni", round_ties_even),
    from_floats!("rzi", trunc),
    from_floats!("rmi", floor),
    from_floats!("rpi", ceil),
    FLOATS,
];

const FLOATS: &[Form] = &[
    Form::new("cvt.f64.f32", &[To(W64), From(W32)], one!(|a| of_f64(f32_of(a).into()))),
    Form::new("cvt.rn.f32.f64", &[To(W32), From(W64)], one!(|a| of_f32(f64_of(a) as f32))),
    Form::new("cvt.f32.f16", &[To(W32), From(W16)], one!(from_f16)),
    Form::new("cvt.rn.f16.f32", &[To(W16), From(W32)], one!(to_f16)),
    Form::new(
        "cvt.rn.f16x2.f32",
        &[To(W32), From(W32), From(W32)],
        two!(|a, b| to_f16(a) << 16 | to_f16(b)),
    )
    .since(Capability::SM_80),
    Form::new("cvt.rn.bf16.f32", &[To(W16), From(W32)], one!(to_bf16)).since(Capability::SM_80),
    Form::new(
        "cvt.rn.bf16x2.f32",
        &[To(W32), From(W32), From(W32)],
        two!(|a, b| to_bf16(a) << 16 | to_bf16(b)),
    )
    .since(Capability::SM_80),
];

fn from_f16(register: u64) -> u64 {
    of_f32(f16::from_bits(low16(register)).to_f32())
}

fn to_f16(register: u64) -> u64 {
    of_f16(f16::from_f32(f32_of(register)))
}

fn to_bf16(register: u64) -> u64 {
    of_bf16(bf16::from_f32(f32_of(register)))
}
