//! Forms of logic, shifts, bit fields, comparison and selection.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "a register's low bits, read as the type that the form names"
)]

use std::cmp::Ordering;

use super::{
    Op, Table, Values,
    lanes::{four, one, three, two},
    number::{f32_of, f64_of},
};

/// Shifts of each width. The distance is not taken modulo the width: by the width or more they leave zeros, or copies of the sign.
macro_rules! shifts {
    ($table:ident: $($width:literal $c:literal $u:ty, $s:ty;)+) => {$(
        let signature = concat!($c, "=", $c, "w");
        let left = two!(|a, b| (a as $u).checked_shl(b as u32).unwrap_or(0) as u64);
        let right = two!(|a, b| (a as $u).checked_shr(b as u32).unwrap_or(0) as u64);
        let signed = two!(|a, b| (a as $s >> b.min(<$u>::BITS as u64 - 1)) as $u as u64);
        for (name, shift) in [("shl.b", left), ("shr.u", right), ("shr.b", right), ("shr.s", signed)] {
            $table.add(format!("{name}{}", $width), signature, shift);
        }
    )+};
}

/// Comparisons on one type, each by its name and its function of two numbers.
macro_rules! set {
    ($table:ident $type:literal $c:literal $read:expr; $($name:literal $f:expr;)+) => {$(
        $table.add(
            concat!("setp.", $name, ".", $type),
            concat!("p=", $c, $c),
            two!(|a, b| u64::from($f($read(a), $read(b)))),
        );
    )+};
}

macro_rules! integers {
    ($table:ident: $($type:literal $c:literal $t:ty;)+) => {$(
        set!($table $type $c |a| a as $t;
            "eq" |a, b| a == b; "ne" |a, b| a != b; "lt" |a, b| a < b; "le" |a, b| a <= b; "gt" |a, b| a > b; "ge" |a, b| a >= b;
        );
    )+};
}

/// Comparisons of floats. With a NaN, comparisons without `u` are false, even `ne`, and those with `u` are true.
macro_rules! floats {
    ($table:ident: $($type:literal $c:literal $of:ident $t:ty;)+) => {$(
        set!($table $type $c $of;
            "eq" |a, b| a == b; "ne" |a: $t, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne);
            "lt" |a, b| a < b; "le" |a, b| a <= b; "gt" |a, b| a > b; "ge" |a, b| a >= b;
            "equ" |a: $t, b| a.partial_cmp(&b).is_none_or(Ordering::is_eq); "neu" |a, b| a != b;
            "ltu" |a: $t, b| a.partial_cmp(&b).is_none_or(Ordering::is_lt);
            "leu" |a: $t, b| a.partial_cmp(&b).is_none_or(Ordering::is_le);
            "gtu" |a: $t, b| a.partial_cmp(&b).is_none_or(Ordering::is_gt);
            "geu" |a: $t, b| a.partial_cmp(&b).is_none_or(Ordering::is_ge);
            "num" |a: $t, b: $t| !(a.is_nan() || b.is_nan()); "nan" |a: $t, b: $t| a.is_nan() || b.is_nan();
        );
    )+};
}

/// Puts the low `length` bits of `a` into `b`, from `place` on. Bits beyond the top are dropped.
fn insert(a: u64, b: u64, place: u64, length: u64) -> u64 {
    let (place, length) = (place & 255, length & 255);
    if place >= 32 {
        return b;
    }
    let ones = if length < 64 { (1 << length) - 1 } else { u64::MAX };
    let mask = ones << place & 0xffff_ffff;
    b & !mask | a << place & mask
}

pub(super) fn add(table: &mut Table) {
    for (width, c) in [("b16", "h"), ("b32", "w"), ("b64", "d"), ("pred", "p")] {
        let signature = format!("{c}={c}{c}");
        table.add(format!("and.{width}"), &signature, two!(|a, b| a & b));
        table.add(format!("or.{width}"), &signature, two!(|a, b| a | b));
        table.add(format!("xor.{width}"), &signature, two!(|a, b| a ^ b));
    }
    table.add("not.b16", "h=h", one!(|a| a ^ 0xffff));
    table.add("not.b32", "w=w", one!(|a| a ^ 0xffff_ffff));
    table.add("not.b64", "d=d", one!(|a| !a));
    table.add("not.pred", "p=p", one!(|a| a ^ 1));
    shifts!(table: 16 "h" u16, i16; 32 "w" u32, i32; 64 "d" u64, i64;);
    table.add("popc.b32", "w=w", one!(|a| a.count_ones() as u64));
    table.add("clz.b32", "w=w", one!(|a| (a as u32).leading_zeros() as u64));
    table.add("bfi.b32", "w=wwww", four!(insert));
    integers!(table: "u16" "h" u16; "s16" "h" i16; "u32" "w" u32; "s32" "w" i32; "u64" "d" u64; "s64" "d" i64;);
    floats!(table: "f32" "w" f32_of f32; "f64" "d" f64_of f64;);
    for (types, c) in [
        (["b16", "u16", "s16", ""], "h"),
        (["b32", "u32", "s32", "f32"], "w"),
        (["b64", "u64", "s64", "f64"], "d"),
    ] {
        let of_bits = |name: &str| name.starts_with('b');
        for name in types.into_iter().filter(|name| !name.is_empty()) {
            table.add(
                format!("selp.{name}"),
                &format!("{c}={c}{c}p"),
                three!(|a, b, p| if p == 1 { a } else { b }),
            );
            if of_bits(name) {
                table.add(
                    format!("setp.eq.{name}"),
                    &format!("p={c}{c}"),
                    two!(|a, b| u64::from(a == b)),
                );
                table.add(
                    format!("setp.ne.{name}"),
                    &format!("p={c}{c}"),
                    two!(|a, b| u64::from(a != b)),
                );
            }
        }
    }
}
