//! Forms of arithmetic on integers, by width and sign, and on floats.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Op, Table, Values,
    lanes::{one, three, two},
    number::{f32_of, f64_of, of_f32, of_f64},
};

/// Forms of each type: `$t` is the type that PTX names, `$u` the unsigned type of its width, a register's bits.
macro_rules! integers {
    ($table:ident: $($name:literal $c:literal $t:ty, $u:ty;)+) => {$(
        let (one, two) = (concat!($c, "=", $c), concat!($c, "=", $c, $c));
        $table.add(concat!("add.", $name), two, two!(|a, b| (a as $u).wrapping_add(b as $u) as u64));
        $table.add(concat!("sub.", $name), two, two!(|a, b| (a as $u).wrapping_sub(b as $u) as u64));
        $table.add(concat!("mul.lo.", $name), two, two!(|a, b| (a as $u).wrapping_mul(b as $u) as u64));
        let high = two!(|a, b| ((a as $t as i128).wrapping_mul(b as $t as i128) >> <$u>::BITS) as $u as u64);
        $table.add(concat!("mul.hi.", $name), two, high);
        let added = three!(|a, b, c| (a as $u).wrapping_mul(b as $u).wrapping_add(c as $u) as u64);
        $table.add(concat!("mad.lo.", $name), concat!($c, "=", $c, $c, $c), added);
        $table.add(concat!("min.", $name), two, two!(|a, b| (a as $t).min(b as $t) as $u as u64));
        $table.add(concat!("max.", $name), two, two!(|a, b| (a as $t).max(b as $t) as $u as u64));
        // The ISA leaves a division by zero open. GPUs set all bits of the quotient, and the remainder is the dividend.
        let quotient = two!(|a, b| if b as $u == 0 { <$u>::MAX as u64 } else { (a as $t).wrapping_div(b as $t) as $u as u64 });
        $table.add(concat!("div.", $name), two, quotient);
        let rest = two!(|a, b| if b as $u == 0 { a } else { (a as $t).wrapping_rem(b as $t) as $u as u64 });
        $table.add(concat!("rem.", $name), two, rest);
        if <$t>::MIN != 0 {
            $table.add(concat!("neg.", $name), one, one!(|a| (a as $u).wrapping_neg() as u64));
            $table.add(concat!("abs.", $name), one, one!(|a| (a as $t as i128).unsigned_abs() as $u as u64));
        }
    )+};
}

/// Products of twice the width.
macro_rules! wide {
    ($table:ident: $($name:literal $c:literal $t:ty, $to:literal $w:ty, $u:ty;)+) => {$(
        let product = two!(|a, b| (a as $t as $w * b as $t as $w) as $u as u64);
        $table.add(concat!("mul.wide.", $name), concat!($to, "=", $c, $c), product);
        let added = three!(|a, b, c| ((a as $t as $w * b as $t as $w) as $u).wrapping_add(c as $u) as u64);
        $table.add(concat!("mad.wide.", $name), concat!($to, "=", $c, $c, $to), added);
    )+};
}

/// Forms of each float type, by its functions from and to a register's bits. They round to nearest even and keep subnormals.
macro_rules! floats {
    ($table:ident: $($name:literal $c:literal $t:ty, $of:ident $to:ident $sign:expr;)+) => {$(
        let (one, two) = (concat!($c, "=", $c), concat!($c, "=", $c, $c));
        $table.add(concat!("add.rn.", $name), two, two!(|a, b| $to($of(a) + $of(b))));
        $table.add(concat!("sub.rn.", $name), two, two!(|a, b| $to($of(a) - $of(b))));
        $table.add(concat!("mul.rn.", $name), two, two!(|a, b| $to($of(a) * $of(b))));
        $table.add(concat!("div.rn.", $name), two, two!(|a, b| $to($of(a) / $of(b))));
        let fused = three!(|a, b, c| $to($of(a).mul_add($of(b), $of(c))));
        $table.add(concat!("fma.rn.", $name), concat!($c, "=", $c, $c, $c), fused);
        $table.add(concat!("sqrt.rn.", $name), one, one!(|a| $to($of(a).sqrt())));
        $table.add(concat!("rcp.rn.", $name), one, one!(|a| $to(1.0 / $of(a))));
        $table.add(concat!("abs.", $name), one, one!(|a| a & !$sign));
        $table.add(concat!("neg.", $name), one, one!(|a| a ^ $sign));
        $table.add(concat!("min.", $name), two, two!(|a, b| $to(least($of(a) as f64, $of(b) as f64) as $t)));
        $table.add(concat!("max.", $name), two, two!(|a, b| $to(most($of(a) as f64, $of(b) as f64) as $t)));
    )+};
}

/// Returns the lesser number: NaN only if both are; -0 is less than +0.
fn least(a: f64, b: f64) -> f64 {
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

fn most(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

pub(super) fn add(table: &mut Table) {
    integers!(table:
        "u16" "h" u16, u16; "s16" "h" i16, u16; "u32" "w" u32, u32; "s32" "w" i32, u32; "u64" "d" u64, u64; "s64" "d" i64, u64;
    );
    wide!(table:
        "u16" "h" u16, "w" u32, u32; "s16" "h" i16, "w" i32, u32; "u32" "w" u32, "d" u64, u64; "s32" "w" i32, "d" i64, u64;
    );
    floats!(table: "f32" "w" f32, f32_of of_f32 (1 << 31); "f64" "d" f64, f64_of of_f64 (1 << 63););
}
