//! Forms of arithmetic: on integers against whole numbers of 128 bits, on floats by rows of numbers and results.

use super::compute::{assert_is, compute, pairs};

/// Integer type of PTX: name, width in bits, and true if it is signed.
#[derive(Clone, Copy)]
pub(super) struct Type(&'static str, pub(super) u32, bool);

const TYPES: [Type; 8] = [
    Type("u8", 8, false),
    Type("s8", 8, true),
    Type("u16", 16, false),
    Type("s16", 16, true),
    Type("u32", 32, false),
    Type("s32", 32, true),
    Type("u64", 64, false),
    Type("s64", 64, true),
];

impl Type {
    pub(super) fn named(name: &str) -> Option<Self> {
        TYPES.into_iter().find(|kind| kind.0 == name)
    }

    /// Returns the letter of the register that holds the type.
    pub(super) fn letter(self) -> char {
        letter(self.1)
    }

    /// Returns the number that these bits mean.
    pub(super) fn value(self, bits: u64) -> i128 {
        let bits = i128::from(bits) & ((1 << self.1) - 1);
        if self.2 && bits >> (self.1 - 1) == 1 { bits - (1 << self.1) } else { bits }
    }

    pub(super) fn edges(self) -> Vec<u64> {
        let (top, all) = (1_u64 << (self.1 - 1), u64::MAX >> (64 - self.1));
        vec![
            0,
            1,
            2,
            3,
            7,
            255 & all,
            top - 1,
            top,
            top + 1,
            all - 1,
            all,
            0x9e37_79b9_7f4a_7c15 & all,
        ]
    }
}

pub(super) fn letter(width: u32) -> char {
    match width {
        1 => 'p',
        8 | 16 => 'h',
        32 => 'w',
        _ => 'd',
    }
}

/// Returns the low bits of a number.
pub(super) fn low(value: i128, width: u32) -> u64 {
    u64::try_from(value & ((1 << width) - 1)).unwrap()
}

fn expected(name: &str, kind: Type, [a, b, c]: [i128; 3]) -> i128 {
    match name {
        "add" => a + b,
        "sub" => a - b,
        "mul.lo" | "mul.wide" => a.wrapping_mul(b),
        "mad.lo" | "mad.wide" => a.wrapping_mul(b).wrapping_add(c),
        "mul.hi" if kind.2 || kind.1 < 64 => (a * b) >> kind.1,
        // Halves are multiplied, so that the product fits.
        "mul.hi" => ((a >> 32) * b + (((a & 0xffff_ffff) * b) >> 32)) >> 32,
        "min" => a.min(b),
        "max" => a.max(b),
        "neg" => -a,
        "abs" => a.abs(),
        "div" if b == 0 => -1,
        "rem" if b == 0 => a,
        "div" => a / b,
        "rem" => a % b,
        _ => panic!("no meaning of {name}"),
    }
}

/// Holds a form to whole numbers, cut off at its width, products of twice the width at that.
pub(super) fn check(form: &str) {
    let (name, kind) = form.rsplit_once('.').unwrap();
    let (kind, is_wide) = (Type::named(kind).unwrap(), name.contains(".wide"));
    let (from, width) = (kind.letter(), kind.1 * if is_wide { 2 } else { 1 });
    let to = letter(width);
    let signature = match name {
        "neg" | "abs" => format!("{to}={from}"),
        _ if name.starts_with("mad") => format!("{to}={from}{from}{to}"),
        _ => format!("{to}={from}{from}"),
    };
    let rows: Vec<_> =
        pairs(&kind.edges(), &kind.edges()).into_iter().map(|[a, b, ..]| [a, b, 5, 0]).collect();
    assert_is(form, &signature, &rows, |[a, b, c, _]| {
        low(expected(name, kind, [kind.value(a), kind.value(b), c.into()]), width)
    });
}

/// Returns rows of a form's name without the type, operands, and the result, for a type's epsilon, least number, least normal one
/// and largest, and a third and the root of two as it rounds them. A NaN is the canonical one.
fn rows([eps, tiny, normal, huge, third, root]: [f64; 6]) -> Vec<(&'static str, [f64; 3], f64)> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let two = |name, a, b, result| (name, [a, b, 0.0], result);
    let one = |name, a, result| two(name, a, 0.0, result);
    vec![
        two("add.rn", 1.0, eps / 2.0, 1.0),
        two("add.rn", 1.0, eps * 0.75, 1.0 + eps),
        two("add.rn", inf, -inf, nan),
        two("sub.rn", 2.0 * normal, normal, normal),
        two("mul.rn", tiny, 0.5, 0.0),
        two("mul.rn", tiny, 1.5, 2.0 * tiny),
        two("mul.rn", huge, 2.0, inf),
        two("div.rn", 1.0, 3.0, third),
        two("div.rn", -1.0, 0.0, -inf),
        two("div.rn", 0.0, 0.0, nan),
        // The exact value is -eps squared, which a product that is rounded first loses.
        ("fma.rn", [1.0 + eps, 1.0 - eps, -1.0], -eps * eps),
        one("sqrt.rn", 2.0, root),
        one("sqrt.rn", -0.0, -0.0),
        one("sqrt.rn", -1.0, nan),
        one("rcp.rn", 3.0, third),
        one("rcp.rn", 4.0, 0.25),
        one("rcp.rn", -0.0, -inf),
        one("rcp.rn", inf, 0.0),
        one("rcp.rn", nan, nan),
        one("rcp.rn", tiny, inf),
        one("neg", 1.0, -1.0),
        one("neg", -0.0, 0.0),
        one("abs", -1.0, 1.0),
        one("abs", -0.0, 0.0),
        two("min", 1.0, 2.0, 1.0),
        two("min", 0.0, -0.0, -0.0),
        two("min", -0.0, 0.0, -0.0),
        two("min", tiny, -tiny, -tiny),
        two("min", nan, 1.0, 1.0),
        two("min", 1.0, nan, 1.0),
        two("min", nan, nan, nan),
        two("max", 1.0, 2.0, 2.0),
        two("max", 0.0, -0.0, 0.0),
        two("max", -0.0, 0.0, 0.0),
        two("max", tiny, -tiny, tiny),
        two("max", nan, 1.0, 1.0),
        two("max", 1.0, nan, 1.0),
        two("max", nan, nan, nan),
    ]
}

const DOUBLE: [f64; 6] = [
    f64::EPSILON,
    f64::from_bits(1),
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::from_bits(0x3fd5_5555_5555_5555),
    f64::from_bits(0x3ff6_a09e_667f_3bcd),
];

#[expect(clippy::cast_possible_truncation, reason = "every number of a row is one of f32")]
fn single(value: f64) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { (value as f32).to_bits().into() }
}

fn double(value: f64) -> u64 {
    if value.is_nan() { 0x7fff_ffff_ffff_ffff } else { value.to_bits() }
}

/// Holds a form to its rows, of which it has one at least.
pub(super) fn check_floats(form: &str) {
    let (name, kind) = form.rsplit_once('.').unwrap();
    let numbers = [
        f32::EPSILON,
        f32::from_bits(1),
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::from_bits(0x3eaa_aaab),
        f32::from_bits(0x3fb5_04f3),
    ];
    let (numbers, letter, bits): (_, _, fn(f64) -> u64) =
        if kind == "f32" { (numbers.map(f64::from), "w", single) } else { (DOUBLE, "d", double) };
    let rows: Vec<_> = rows(numbers).into_iter().filter(|row| row.0 == name).collect();
    assert!(!rows.is_empty(), "no row of {form}");
    let count = match name {
        "fma.rn" => 3,
        "sqrt.rn" | "rcp.rn" | "neg" | "abs" => 1,
        _ => 2,
    };
    for (_, given, result) in rows {
        let [a, b, c] = given.map(bits);
        let found = compute(form, &format!("{letter}={}", letter.repeat(count)), &[[a, b, c, 0]]);
        assert_eq!(found, [bits(result)], "{form} of {given:?}");
    }
}
