//! Forms of integer arithmetic, against whole numbers of 128 bits.

use crate::compute::{assert_is, pairs};

/// Integer type of PTX: name, width in bits, and true if it is signed.
#[derive(Clone, Copy)]
pub(crate) struct Type(pub(crate) &'static str, pub(crate) u32, pub(crate) bool);

pub(crate) const TYPES: [Type; 6] = [
    Type("u16", 16, false),
    Type("s16", 16, true),
    Type("u32", 32, false),
    Type("s32", 32, true),
    Type("u64", 64, false),
    Type("s64", 64, true),
];

impl Type {
    pub(crate) fn letter(self) -> char {
        letter(self.1)
    }

    /// Returns the number that these bits mean.
    pub(crate) fn value(self, bits: u64) -> i128 {
        let bits = i128::from(bits) & ((1 << self.1) - 1);
        if self.2 && bits >> (self.1 - 1) == 1 { bits - (1 << self.1) } else { bits }
    }

    pub(crate) fn edges(self) -> Vec<u64> {
        let (top, all) = (1_u64 << (self.1 - 1), u64::MAX >> (64 - self.1));
        vec![0, 1, 2, 3, 7, 255, top - 1, top, top + 1, all - 1, all, 0x9e37_79b9_7f4a_7c15 & all]
    }
}

pub(crate) fn letter(width: u32) -> char {
    match width {
        16 => 'h',
        32 => 'w',
        _ => 'd',
    }
}

/// Returns the low bits of a number.
pub(crate) fn low(value: i128, width: u32) -> u64 {
    u64::try_from(value & ((1 << width) - 1)).unwrap()
}

const TWO: [&str; 8] = ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"];

fn two(name: &str, kind: Type, a: i128, b: i128) -> i128 {
    match name {
        "add" => a + b,
        "sub" => a - b,
        "mul.lo" => a.wrapping_mul(b),
        "mul.hi" if kind.2 || kind.1 < 64 => (a * b) >> kind.1,
        // Halves are multiplied, so that the product fits.
        "mul.hi" => {
            let (high, low) = (a >> 32, a & 0xffff_ffff);
            (high * b + ((low * b) >> 32)) >> 32
        }
        "min" => a.min(b),
        "max" => a.max(b),
        "div" if b == 0 => -1,
        "rem" if b == 0 => a,
        "div" => a / b,
        _ => a % b,
    }
}

#[test]
fn integer_arithmetic_is_that_of_whole_numbers_cut_off() {
    for kind in TYPES {
        let Type(type_name, width, _) = kind;
        let letter = kind.letter();
        let rows = pairs(&kind.edges(), &kind.edges());
        for name in TWO {
            assert_is(
                &format!("{name}.{type_name}"),
                &format!("{letter}={letter}{letter}"),
                &rows,
                |row| low(two(name, kind, kind.value(row[0]), kind.value(row[1])), width),
            );
        }
        assert_is(
            &format!("mad.lo.{type_name}"),
            &format!("{letter}={letter}{letter}{letter}"),
            &with(&rows, 5),
            |row| low(kind.value(row[0]).wrapping_mul(kind.value(row[1])).wrapping_add(5), width),
        );
    }
}

fn with(rows: &[[u64; 4]], third: u64) -> Vec<[u64; 4]> {
    rows.iter().map(|row| [row[0], row[1], third, 0]).collect()
}

#[test]
fn wide_products_are_whole() {
    for kind in &TYPES[..4] {
        let (from, to) = (kind.letter(), letter(2 * kind.1));
        let rows = pairs(&kind.edges(), &kind.edges());
        let product = |row: [u64; 4]| kind.value(row[0]) * kind.value(row[1]);
        assert_is(&format!("mul.wide.{}", kind.0), &format!("{to}={from}{from}"), &rows, |row| {
            low(product(row), 2 * kind.1)
        });
        assert_is(
            &format!("mad.wide.{}", kind.0),
            &format!("{to}={from}{from}{to}"),
            &with(&rows, 9),
            |row| low(product(row) + 9, 2 * kind.1),
        );
    }
}

#[test]
fn the_most_negative_number_has_no_opposite() {
    for kind in TYPES.into_iter().filter(|kind| kind.2) {
        let (rows, letter) = (pairs(&kind.edges(), &[0]), kind.letter());
        let signature = format!("{letter}={letter}");
        assert_is(&format!("neg.{}", kind.0), &signature, &rows, |row| {
            low(-kind.value(row[0]), kind.1)
        });
        assert_is(&format!("abs.{}", kind.0), &signature, &rows, |row| {
            low(kind.value(row[0]).abs(), kind.1)
        });
    }
}

pub(crate) fn forms() -> Vec<String> {
    let each = |kind: Type| {
        let two = TWO.into_iter().chain(["mad.lo"]).map(move |name| (name, kind));
        let wide = ["mul.wide", "mad.wide"].into_iter().filter(move |_| kind.1 < 64);
        let signed = ["neg", "abs"].into_iter().filter(move |_| kind.2);
        two.chain(wide.chain(signed).map(move |name| (name, kind)))
    };
    TYPES.into_iter().flat_map(each).map(|(name, kind)| format!("{name}.{}", kind.0)).collect()
}
