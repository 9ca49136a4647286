//! Forms of comparison and selection.

use std::cmp::Ordering::{Equal, Greater, Less};

use crate::compute::{assert_is, pairs};
use crate::integer::{TYPES, letter};

const ORDERS: [(&str, &[std::cmp::Ordering]); 6] = [
    ("eq", &[Equal]),
    ("ne", &[Less, Greater]),
    ("lt", &[Less]),
    ("le", &[Less, Equal]),
    ("gt", &[Greater]),
    ("ge", &[Greater, Equal]),
];

#[test]
fn integers_compare_by_their_sign_or_without() {
    for kind in TYPES {
        let (letter, rows) = (kind.letter(), pairs(&kind.edges(), &kind.edges()));
        for (name, orders) in ORDERS {
            assert_is(
                &format!("setp.{name}.{}", kind.0),
                &format!("p={letter}{letter}"),
                &rows,
                |[a, b, ..]| u64::from(orders.contains(&kind.value(a).cmp(&kind.value(b)))),
            );
        }
    }
    for width in [16, 32, 64] {
        let (letter, rows) = (letter(width), pairs(&[0, 1, 0x8000], &[0, 1, 0x8000]));
        let signature = format!("p={letter}{letter}");
        assert_is(&format!("setp.eq.b{width}"), &signature, &rows, |[a, b, ..]| u64::from(a == b));
        assert_is(&format!("setp.ne.b{width}"), &signature, &rows, |[a, b, ..]| u64::from(a != b));
    }
}

/// Whole numbers, zeros, infinities, subnormals, NaNs.
const FLOATS: [f64; 9] =
    [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, -1e-40];

fn is_set(name: &str, a: f64, b: f64) -> bool {
    let order = a.partial_cmp(&b);
    match name {
        "num" => order.is_some(),
        "nan" => order.is_none(),
        _ => {
            let ordered = name.strip_suffix('u').unwrap_or(name);
            // With a NaN the names that end in `u` are true, the others false.
            let (_, orders) = ORDERS.iter().find(|(other, _)| *other == ordered).unwrap();
            order.map_or(ordered != name, |order| orders.contains(&order))
        }
    }
}

const FLOAT_NAMES: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

#[test]
#[expect(clippy::cast_possible_truncation, reason = "a rounded number is a number as well")]
fn a_nan_fails_every_comparison_but_those_that_say_unordered() {
    for name in FLOAT_NAMES {
        let bits = FLOATS.map(f64::to_bits);
        assert_is(&format!("setp.{name}.f64"), "p=dd", &pairs(&bits, &bits), |[a, b, ..]| {
            u64::from(is_set(name, f64::from_bits(a), f64::from_bits(b)))
        });
        let bits = FLOATS.map(|x| u64::from((x as f32).to_bits()));
        let value = |bits: u64| f64::from(f32::from_bits(u32::try_from(bits).unwrap()));
        assert_is(&format!("setp.{name}.f32"), "p=ww", &pairs(&bits, &bits), |[a, b, ..]| {
            u64::from(is_set(name, value(a), value(b)))
        });
    }
}

const SELECTED: [(&str, char); 11] = [
    ("b16", 'h'),
    ("u16", 'h'),
    ("s16", 'h'),
    ("b32", 'w'),
    ("u32", 'w'),
    ("s32", 'w'),
    ("f32", 'w'),
    ("b64", 'd'),
    ("u64", 'd'),
    ("s64", 'd'),
    ("f64", 'd'),
];

#[test]
fn a_selection_takes_the_first_where_the_predicate_holds() {
    for (name, letter) in SELECTED {
        let rows = [[7, 9, 1, 0], [7, 9, 0, 0]];
        assert_is(
            &format!("selp.{name}"),
            &format!("{letter}={letter}{letter}p"),
            &rows,
            |[a, b, p, _]| [b, a][usize::try_from(p).unwrap()],
        );
    }
}

pub(crate) fn forms() -> Vec<String> {
    let integers =
        TYPES.iter().flat_map(|kind| ORDERS.map(|(name, _)| format!("setp.{name}.{}", kind.0)));
    let bits = [16, 32, 64]
        .into_iter()
        .flat_map(|width| ["eq", "ne"].map(|name| format!("setp.{name}.b{width}")));
    let floats = FLOAT_NAMES
        .iter()
        .flat_map(|name| ["f32", "f64"].map(|kind| format!("setp.{name}.{kind}")));
    let selections = SELECTED.iter().map(|(name, _)| format!("selp.{name}"));
    integers.chain(bits).chain(floats).chain(selections).collect()
}
