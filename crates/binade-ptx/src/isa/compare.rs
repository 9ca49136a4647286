//! Forms of comparison and selection.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Class::{Predicate, W16, W32, W64},
    Form,
    Kind::{self, From, To},
    Op, Values,
    lanes::{three, two},
    number::{f32_of, f64_of},
};

const SET_16: &[Kind] = &[To(Predicate), From(W16), From(W16)];
const SET_32: &[Kind] = &[To(Predicate), From(W32), From(W32)];
const SET_64: &[Kind] = &[To(Predicate), From(W64), From(W64)];
const SELECT_16: &[Kind] = &[To(W16), From(W16), From(W16), From(Predicate)];
const SELECT_32: &[Kind] = &[To(W32), From(W32), From(W32), From(Predicate)];
const SELECT_64: &[Kind] = &[To(W64), From(W64), From(W64), From(Predicate)];

macro_rules! set {
    ($compare:literal, $name:literal, $operands:ident, $f:expr) => {
        Form::new(
            concat!("setp.", $compare, ".", $name),
            $operands,
            two!(|a, b| u64::from($f(a, b))),
        )
    };
}

macro_rules! equal {
    ($name:literal, $operands:ident) => {
        &[set!("eq", $name, $operands, |a, b| a == b), set!("ne", $name, $operands, |a, b| a != b)]
    };
}

macro_rules! integers {
    ($name:literal, $operands:ident, $t:ty) => {
        &[
            set!("eq", $name, $operands, |a, b| a == b),
            set!("ne", $name, $operands, |a, b| a != b),
            set!("lt", $name, $operands, |a, b| (a as $t) < b as $t),
            set!("le", $name, $operands, |a, b| a as $t <= b as $t),
            set!("gt", $name, $operands, |a, b| a as $t > b as $t),
            set!("ge", $name, $operands, |a, b| a as $t >= b as $t),
        ]
    };
}

macro_rules! is_nan {
    ($of:ident, $a:ident, $b:ident) => {
        ($of($a).is_nan() || $of($b).is_nan())
    };
}

/// Comparisons of floats. With a NaN those without `u` are false, `ne` too, and those with `u` true.
macro_rules! floats {
    ($name:literal, $operands:ident, $of:ident) => {
        &[
            set!("eq", $name, $operands, |a, b| $of(a) == $of(b)),
            set!("ne", $name, $operands, |a, b| $of(a) < $of(b) || $of(a) > $of(b)),
            set!("lt", $name, $operands, |a, b| $of(a) < $of(b)),
            set!("le", $name, $operands, |a, b| $of(a) <= $of(b)),
            set!("gt", $name, $operands, |a, b| $of(a) > $of(b)),
            set!("ge", $name, $operands, |a, b| $of(a) >= $of(b)),
            set!("equ", $name, $operands, |a, b| $of(a) == $of(b) || is_nan!($of, a, b)),
            set!("neu", $name, $operands, |a, b| $of(a) != $of(b)),
            set!("ltu", $name, $operands, |a, b| $of(a) < $of(b) || is_nan!($of, a, b)),
            set!("leu", $name, $operands, |a, b| $of(a) <= $of(b) || is_nan!($of, a, b)),
            set!("gtu", $name, $operands, |a, b| $of(a) > $of(b) || is_nan!($of, a, b)),
            set!("geu", $name, $operands, |a, b| $of(a) >= $of(b) || is_nan!($of, a, b)),
            set!("num", $name, $operands, |a, b| !is_nan!($of, a, b)),
            set!("nan", $name, $operands, |a, b| is_nan!($of, a, b)),
        ]
    };
}

macro_rules! select {
    ($operands:ident: $($name:literal),+) => {
        &[$(Form::new(concat!("selp.", $name), $operands, three!(|a, b, p| if p == 1 { a } else { b }))),+]
    };
}

pub(super) const FORMS: &[&[Form]] = &[
    equal!("b16", SET_16),
    equal!("b32", SET_32),
    equal!("b64", SET_64),
    integers!("u16", SET_16, u16),
    integers!("s16", SET_16, i16),
    integers!("u32", SET_32, u32),
    integers!("s32", SET_32, i32),
    integers!("u64", SET_64, u64),
    integers!("s64", SET_64, i64),
    floats!("f32", SET_32, f32_of),
    floats!("f64", SET_64, f64_of),
    select!(SELECT_16: "b16", "u16", "s16"),
    select!(SELECT_32: "b32", "u32", "s32", "f32"),
    select!(SELECT_64: "b64", "u64", "s64", "f64"),
];
