//! Forms of atomics. Each function gets the old value and two operands, and returns the new one.
//!
//! Orders and scopes change nothing here, since one thread runs at a time. Sums of floats are not in the table: their order, and
//! so their bits, are open.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Class::{W32, W64},
    Form,
    Kind::{From, Memory, To},
    Op,
    Space::{Generic, Global, Shared},
};

/// Forms whose names are a prefix, an operation, an order with its scope, and a type, on one space.
macro_rules! atomics {
    ($prefix:literal, $order:literal, $space:ident) => {
        &[
            atomics!(two $prefix, $order, $space:
                "add" ".u32" 4 W32 |old, b, _| old.wrapping_add(b) & 0xffff_ffff;
                "add" ".s32" 4 W32 |old, b, _| old.wrapping_add(b) & 0xffff_ffff;
                "add" ".u64" 8 W64 |old, b, _| old.wrapping_add(b);
                "and" ".b32" 4 W32 |old, b, _| old & b;
                "and" ".b64" 8 W64 |old, b, _| old & b;
                "or" ".b32" 4 W32 |old, b, _| old | b;
                "or" ".b64" 8 W64 |old, b, _| old | b;
                "xor" ".b32" 4 W32 |old, b, _| old ^ b;
                "xor" ".b64" 8 W64 |old, b, _| old ^ b;
                "min" ".u32" 4 W32 |old, b, _| old.min(b);
                "min" ".s32" 4 W32 |old, b, _| if (old as i32) < b as i32 { old } else { b };
                "min" ".u64" 8 W64 |old, b, _| old.min(b);
                "min" ".s64" 8 W64 |old, b, _| if (old as i64) < b as i64 { old } else { b };
                "max" ".u32" 4 W32 |old, b, _| old.max(b);
                "max" ".s32" 4 W32 |old, b, _| if old as i32 > b as i32 { old } else { b };
                "max" ".u64" 8 W64 |old, b, _| old.max(b);
                "max" ".s64" 8 W64 |old, b, _| if old as i64 > b as i64 { old } else { b };
                // `inc` counts up to the operand and wraps to 0, `dec` counts down from it.
                "inc" ".u32" 4 W32 |old, b, _| if old >= b { 0 } else { old + 1 };
                "dec" ".u32" 4 W32 |old, b, _| if old == 0 || old > b { b } else { old - 1 };
            ),
            atomics!(result $prefix, $order, $space:
                "exch" ".b32" 4 &[To(W32), Memory($space), From(W32)], |_, b, _| b;
                "exch" ".b64" 8 &[To(W64), Memory($space), From(W64)], |_, b, _| b;
                "cas" ".b32" 4 &[To(W32), Memory($space), From(W32), From(W32)], |old, b, c| if old == b { c } else { old };
                "cas" ".b64" 8 &[To(W64), Memory($space), From(W64), From(W64)], |old, b, c| if old == b { c } else { old };
            ),
        ]
    };
    // `atom` returns the old value, `red` returns nothing.
    (two $prefix:literal, $order:literal, $space:ident: $($name:literal $type:literal $bytes:literal $class:ident $f:expr;)+) => {
        &[$(
            Form::new(
                concat!("atom.", $prefix, $name, $order, $type),
                &[To($class), Memory($space), From($class)],
                Op::Atomic($space, $bytes, $f),
            ),
            Form::new(
                concat!("red.", $prefix, $name, $order, $type),
                &[Memory($space), From($class)],
                Op::Reduce($space, $bytes, $f),
            ),
        )+]
    };
    (result $prefix:literal, $order:literal, $space:ident: $($name:literal $type:literal $bytes:literal $operands:expr, $f:expr;)+) => {
        &[$(Form::new(concat!("atom.", $prefix, $name, $order, $type), $operands, Op::Atomic($space, $bytes, $f))),+]
    };
}

/// Forms of atomics, with orders and scopes in both places where compilers write them.
pub(super) const FORMS: &[&[&[Form]]] = &[
    atomics!("", "", Generic),
    atomics!("global.", "", Global),
    atomics!("shared.", "", Shared),
    atomics!("", ".relaxed.gpu", Generic),
    atomics!("", ".acquire.gpu", Generic),
    atomics!("", ".release.gpu", Generic),
    atomics!("", ".acq_rel.gpu", Generic),
    atomics!("relaxed.gpu.global.", "", Global),
    atomics!("acquire.gpu.global.", "", Global),
    atomics!("release.gpu.global.", "", Global),
    atomics!("acq_rel.gpu.global.", "", Global),
];
