//! Forms of integer arithmetic, by width and sign.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Class::{W16, W32, W64},
    Form,
    Kind::{self, From, To},
    Op, Values,
    lanes::{one, three, two},
};

/// Operands of a form: a destination of one class, sources of others.
macro_rules! operands {
    ($to:ident: $($from:ident),+) => {
        const { &[To($to), $(From($from)),+] as &'static [Kind] }
    };
}

/// Arithmetic on one type: `$t` is the type that PTX names, `$u` the unsigned type of its width, a register's bits.
macro_rules! arithmetic {
    ($name:literal, $class:ident, $t:ty, $u:ty) => {
        &[
            Form::new(concat!("add.", $name), operands!($class: $class, $class), two!(|a, b| (a as $u).wrapping_add(b as $u) as u64)),
            Form::new(concat!("sub.", $name), operands!($class: $class, $class), two!(|a, b| (a as $u).wrapping_sub(b as $u) as u64)),
            Form::new(concat!("mul.lo.", $name), operands!($class: $class, $class), two!(|a, b| (a as $u).wrapping_mul(b as $u) as u64)),
            Form::new(
                concat!("mul.hi.", $name),
                operands!($class: $class, $class),
                two!(|a, b| ((a as $t as i128).wrapping_mul(b as $t as i128) >> <$u>::BITS) as $u as u64),
            ),
            Form::new(
                concat!("mad.lo.", $name),
                operands!($class: $class, $class, $class),
                three!(|a, b, c| (a as $u).wrapping_mul(b as $u).wrapping_add(c as $u) as u64),
            ),
            Form::new(concat!("min.", $name), operands!($class: $class, $class), two!(|a, b| (a as $t).min(b as $t) as $u as u64)),
            Form::new(concat!("max.", $name), operands!($class: $class, $class), two!(|a, b| (a as $t).max(b as $t) as $u as u64)),
            // The ISA leaves a division by zero open. GPUs set all bits of the quotient, and the remainder is the dividend.
            Form::new(
                concat!("div.", $name),
                operands!($class: $class, $class),
                two!(|a, b| if b as $u == 0 { <$u>::MAX as u64 } else { (a as $t).wrapping_div(b as $t) as $u as u64 }),
            ),
            Form::new(
                concat!("rem.", $name),
                operands!($class: $class, $class),
                two!(|a, b| if b as $u == 0 { a } else { (a as $t).wrapping_rem(b as $t) as $u as u64 }),
            ),
        ]
    };
}

/// Products of twice the width.
macro_rules! wide {
    ($name:literal, $from:ident, $t:ty, $to:ident, $w:ty, $u:ty) => {
        &[
            Form::new(concat!("mul.wide.", $name), operands!($to: $from, $from), two!(|a, b| (a as $t as $w * b as $t as $w) as $u as u64)),
            Form::new(
                concat!("mad.wide.", $name),
                operands!($to: $from, $from, $to),
                three!(|a, b, c| ((a as $t as $w * b as $t as $w) as $u).wrapping_add(c as $u) as u64),
            ),
        ]
    };
}

/// Forms of signed types alone.
macro_rules! signed {
    ($name:literal, $class:ident, $t:ty, $u:ty) => {
        &[
            Form::new(concat!("neg.", $name), operands!($class: $class), one!(|a| (a as $u).wrapping_neg() as u64)),
            Form::new(concat!("abs.", $name), operands!($class: $class), one!(|a| (a as $t).wrapping_abs() as $u as u64)),
        ]
    };
}

pub(super) const FORMS: &[&[Form]] = &[
    arithmetic!("u16", W16, u16, u16),
    arithmetic!("s16", W16, i16, u16),
    arithmetic!("u32", W32, u32, u32),
    arithmetic!("s32", W32, i32, u32),
    arithmetic!("u64", W64, u64, u64),
    arithmetic!("s64", W64, i64, u64),
    wide!("u16", W16, u16, W32, u32, u32),
    wide!("s16", W16, i16, W32, i32, u32),
    wide!("u32", W32, u32, W64, u64, u64),
    wide!("s32", W32, i32, W64, i64, u64),
    signed!("s16", W16, i16, u16),
    signed!("s32", W32, i32, u32),
    signed!("s64", W64, i64, u64),
];
