//! Forms of moves and conversions. Integers give their low bits, or are extended by their sign; to floats and between them the
//! nearest, ties to even.
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
    Class::{self, W16, W32, W64},
    Kind::{Any, From, FromVector, FromWider, To, ToVector},
    Op, Table, Values,
    lanes::{one, two},
    number::{f32_of, f64_of, low16, of_bf16, of_f16, of_f32, of_f64},
};
use crate::module::Capability;

/// Conversions to an integer type, named first, from those of other widths.
macro_rules! integers {
    ($table:ident: $($to:literal $class:ident $u:ty: $($from:literal $from_class:ident $t:ty),+;)+) => {$($(
        let form = vec![To($class), FromWider($from_class)];
        $table.form(concat!("cvt.", $to, ".", $from), form, one!(|a| a as $t as $u as u64));
    )+)+};
}

macro_rules! to_floats {
    ($table:ident: $($from:literal $c:literal $t:ty),+) => {$(
        $table.add(concat!("cvt.rn.f32.", $from), concat!("w=", $c), one!(|a| of_f32(a as $t as f32)));
        $table.add(concat!("cvt.rn.f64.", $from), concat!("d=", $c), one!(|a| of_f64(a as $t as f64)));
    )+};
}

fn to_f16(register: u64) -> u64 {
    of_f16(f16::from_f32(f32_of(register)))
}

fn to_bf16(register: u64) -> u64 {
    of_bf16(bf16::from_f32(f32_of(register)))
}

/// Adds moves of one width, and those that pack elements into a register or unpack it.
fn add_moves(table: &mut Table, class: Class, names: [&str; 3], packed: &[(Class, usize)]) {
    let [bits, integer, float] = names;
    let same = one!(|a| a);
    table.form(format!("mov.{bits}"), vec![To(class), Any(class)], same);
    table.form(format!("mov.{integer}"), vec![To(class), Any(class)], same);
    if class != W16 {
        table.form(format!("mov.{float}"), vec![To(class), From(class)], same);
    }
    for &(of, count) in packed {
        let width = class.bits() / count;
        table.form(format!("mov.{bits}"), vec![To(class), FromVector(of, count)], Op::Pack(width));
        table.form(
            format!("mov.{bits}"),
            vec![ToVector(of, count), From(class)],
            Op::Unpack(width),
        );
    }
}

pub(super) fn add(table: &mut Table) {
    table.add("mov.pred", "p=p", one!(|a| a));
    add_moves(table, W16, ["b16", "u16", "f16"], &[]);
    add_moves(table, W32, ["b32", "u32", "f32"], &[(W16, 2)]);
    add_moves(table, W64, ["b64", "u64", "f64"], &[(W32, 2), (W16, 4)]);
    // Generic addresses are those of global memory. Shared memory has none here, and no form makes one.
    table.add("cvta.to.global.u64", "d=d", one!(|a| a));
    integers!(table:
        "u16" W16 u16: "u8" W16 u8, "s8" W16 i8, "u32" W32 u32, "s32" W32 i32, "u64" W64 u64, "s64" W64 i64;
        "s16" W16 u16: "u8" W16 u8, "s8" W16 i8, "u32" W32 u32, "s32" W32 i32, "u64" W64 u64, "s64" W64 i64;
        "u32" W32 u32: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u64" W64 u64, "s64" W64 i64;
        "s32" W32 u32: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u64" W64 u64, "s64" W64 i64;
        "u64" W64 u64: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u32" W32 u32, "s32" W32 i32;
        "s64" W64 u64: "u8" W16 u8, "s8" W16 i8, "u16" W16 u16, "s16" W16 i16, "u32" W32 u32, "s32" W32 i32;
    );
    to_floats!(table: "u16" "h" u16, "s16" "h" i16, "u32" "w" u32, "s32" "w" i32, "u64" "d" u64, "s64" "d" i64);
    table.add("cvt.f64.f32", "d=w", one!(|a| of_f64(f32_of(a).into())));
    table.add("cvt.rn.f32.f64", "w=d", one!(|a| of_f32(f64_of(a) as f32)));
    table.add("cvt.f32.f16", "w=h", one!(|a| of_f32(f16::from_bits(low16(a)).to_f32())));
    table.add("cvt.rn.f16.f32", "h=w", one!(to_f16));
    let f16s = two!(|a, b| to_f16(a) << 16 | to_f16(b));
    table.add("cvt.rn.f16x2.f32", "w=ww", f16s).since = Capability::SM_80;
    table.add("cvt.rn.bf16.f32", "h=w", one!(to_bf16)).since = Capability::SM_80;
    let bf16s = two!(|a, b| to_bf16(a) << 16 | to_bf16(b));
    table.add("cvt.rn.bf16x2.f32", "w=ww", bf16s).since = Capability::SM_80;
}
