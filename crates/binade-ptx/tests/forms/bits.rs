//! Forms of logic, shifts, bit fields, comparison and selection, bit by bit.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::{
    arithmetic::{Type, letter},
    compute::{assert_is, compute, pairs},
};

const WORDS: [u64; 6] = [0, 1, 0x8000_0001, 0xffff_ffff, 0x1234_5678, 0xf0e1_d2c3_b4a5_9687];
const DISTANCES: [u64; 11] = [0, 1, 15, 16, 31, 32, 63, 64, 65, 0x8000_0000, 0xffff_ffff];

/// Returns the bits of a form's type; of a predicate one.
fn width(form: &str) -> u32 {
    let kind = form.rsplit('.').next().unwrap();
    if kind == "pred" { 1 } else { kind[1..].parse().unwrap() }
}

pub(super) fn check(form: &str) {
    let (width, name) = (width(form), form.split('.').next().unwrap());
    let (letter, mask) = (letter(width), u64::MAX >> (64 - width));
    let words: Vec<_> = WORDS.iter().map(|word| word & mask).collect();
    let bits = move |a: u64| (0..width).rev().map(move |i| a >> i & 1);
    let (signature, rows) = match name {
        "shl" | "shr" => (format!("{letter}={letter}w"), pairs(&words, &DISTANCES)),
        "not" => (format!("{letter}={letter}"), pairs(&words, &[0])),
        "popc" | "clz" => (format!("w={letter}"), pairs(&words, &[0])),
        "bfi" => ("w=wwww".to_owned(), fields()),
        _ => (format!("{letter}={letter}{letter}"), pairs(&words, &words)),
    };
    assert_is(form, &signature, &rows, |[a, b, place, length]| match name {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a & mask,
        "popc" => bits(a).sum(),
        "clz" => bits(a).take_while(|bit| *bit == 0).count() as u64,
        "shl" => {
            bits(a).skip(usize::try_from(b).unwrap()).fold(0, |x, bit| x << 1 | bit) << b.min(63)
                & mask
        }
        "shr" if form.starts_with("shr.s") => {
            let signs = if a >> (width - 1) == 1 { u128::from(mask) << width } else { 0 };
            let wide = (u128::from(a) | signs) >> b.min(u64::from(width));
            u64::try_from(wide & u128::from(mask)).unwrap()
        }
        "shr" => {
            if b < 64 {
                a >> b
            } else {
                0
            }
        }
        _ => (0..32).fold(0, |x, i| {
            let bit = if i >= place && i - place < length { a >> (i - place) } else { b >> i };
            x | (bit & 1) << i
        }),
    });
}

/// Returns rows of a value, a base, a place and a length.
fn fields() -> Vec<[u64; 4]> {
    let rows = pairs(&[0, 1, 8, 31, 32, 40, 63, 255], &[0, 1, 7, 31, 32, 33, 64, 255]);
    rows.into_iter().map(|[place, length, ..]| [0xb4a5_9687, 0x89ab_cdef, place, length]).collect()
}

#[test]
fn a_predicate_is_moved() {
    assert_eq!(compute("mov.pred", "p=p", &pairs(&[0, 1], &[0])), [0, 1]);
}

const ORDERS: [(&str, &[Ordering]); 6] = [
    ("eq", &[Equal]),
    ("ne", &[Less, Greater]),
    ("lt", &[Less]),
    ("le", &[Less, Equal]),
    ("gt", &[Greater]),
    ("ge", &[Greater, Equal]),
];

fn orders(name: &str) -> &'static [Ordering] {
    ORDERS.iter().find(|(other, _)| *other == name).unwrap().1
}

/// Integers compare by their sign or without, bits without.
pub(super) fn check_integers(form: &str) {
    let (name, kind) = form.strip_prefix("setp.").unwrap().split_once('.').unwrap();
    let kind = Type::named(&kind.replace('b', "u")).unwrap();
    let (letter, rows) = (kind.letter(), pairs(&kind.edges(), &kind.edges()));
    assert_is(form, &format!("p={letter}{letter}"), &rows, |[a, b, ..]| {
        u64::from(orders(name).contains(&kind.value(a).cmp(&kind.value(b))))
    });
}

/// Whole numbers, zeros, infinities, subnormals, NaNs.
const FLOATS: [f64; 9] =
    [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, -1e-40];

/// With a NaN the comparisons that end in `u` are true, the others false.
fn is_set(name: &str, a: f64, b: f64) -> bool {
    let order = a.partial_cmp(&b);
    let ordered = name.strip_suffix('u').unwrap_or(name);
    match name {
        "num" => order.is_some(),
        "nan" => order.is_none(),
        _ => order.map_or(ordered != name, |order| orders(ordered).contains(&order)),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a rounded number is a number as well")]
pub(super) fn check_floats(form: &str) {
    let name = form.split('.').nth(1).unwrap();
    let (bits, signature) = if form.ends_with("f64") {
        (FLOATS.map(f64::to_bits), "p=dd")
    } else {
        (FLOATS.map(|x| u64::from((x as f32).to_bits())), "p=ww")
    };
    let value = |bits: u64| match u32::try_from(bits) {
        Ok(bits) if signature == "p=ww" => f64::from(f32::from_bits(bits)),
        _ => f64::from_bits(bits),
    };
    assert_is(form, signature, &pairs(&bits, &bits), |[a, b, ..]| {
        u64::from(is_set(name, value(a), value(b)))
    });
}

/// A selection takes the first where the predicate holds.
pub(super) fn check_selection(form: &str) {
    let letter = letter(width(form));
    let rows = [[7, 9, 1, 0], [7, 9, 0, 0]];
    assert_eq!(compute(form, &format!("{letter}={letter}{letter}p"), &rows), [7, 9], "{form}");
}
