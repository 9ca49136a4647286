//! Forms of arithmetic on f32 and f64.

use crate::compute::{compute, pairs};

const NAN: u64 = 0x7fff_ffff;
const NAN_64: u64 = 0x7fff_ffff_ffff_ffff;

fn w(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn d(value: f64) -> u64 {
    value.to_bits()
}

const TINY: f32 = f32::from_bits(1);

#[test]
fn f64_rounds_once_and_keeps_subnormals() {
    let (tiny, huge) = (f64::from_bits(1), f64::MAX);
    let two = |form: &str, a: f64, b: f64| compute(form, "d=dd", &[[d(a), d(b), 0, 0]])[0];
    assert_eq!(two("add.rn.f64", 1.0, f64::EPSILON / 2.0), d(1.0));
    assert_eq!(two("add.rn.f64", 1.0, f64::EPSILON * 0.75), d(1.0 + f64::EPSILON));
    // Without a rounding mode they round alike, in a module that may hold them.
    assert_eq!(two("add.f64", 1.0, f64::EPSILON * 0.75), d(1.0 + f64::EPSILON));
    assert_eq!(two("sub.f64", 3.0, 1.0), d(2.0));
    assert_eq!(two("mul.f64", tiny, 1.5), d(f64::from_bits(2)));
    assert_eq!(two("add.rn.f64", f64::INFINITY, f64::NEG_INFINITY), NAN_64);
    assert_eq!(two("sub.rn.f64", 2.0 * f64::MIN_POSITIVE, f64::MIN_POSITIVE), d(f64::MIN_POSITIVE));
    assert_eq!(two("mul.rn.f64", tiny, 0.5), d(0.0));
    assert_eq!(two("mul.rn.f64", tiny, 1.5), d(f64::from_bits(2)));
    assert_eq!(two("mul.rn.f64", huge, 2.0), d(f64::INFINITY));
    assert_eq!(two("div.rn.f64", 1.0, 3.0), 0x3fd5_5555_5555_5555);
    assert_eq!(two("div.rn.f64", -1.0, 0.0), d(f64::NEG_INFINITY));
    assert_eq!(two("div.rn.f64", 0.0, 0.0), NAN_64);
    let one = |form: &str, a: f64| compute(form, "d=d", &[[d(a), 0, 0, 0]])[0];
    assert_eq!(one("sqrt.rn.f64", 2.0), 0x3ff6_a09e_667f_3bcd);
    assert_eq!([one("sqrt.rn.f64", -0.0), one("sqrt.rn.f64", -1.0)], [d(-0.0), NAN_64]);
    assert_eq!([one("rcp.rn.f64", -0.0), one("rcp.rn.f64", 4.0)], [d(f64::NEG_INFINITY), d(0.25)]);
    assert_eq!([one("neg.f64", 1.0), one("abs.f64", -0.0)], [d(-1.0), d(0.0)]);
}

/// The exact value of (1 + e)(1 - e) - 1 is -e squared, which a product that is rounded first loses.
#[test]
fn fma_does_not_round_its_product() {
    let (e, f) = (f64::EPSILON, f32::EPSILON);
    let row = [d(1.0 + e), d(1.0 - e), d(-1.0), 0];
    assert_eq!(compute("fma.rn.f64", "d=ddd", &[row]), [d(-e * e)]);
    let row = [w(1.0 + f), w(1.0 - f), w(-1.0), 0];
    assert_eq!(compute("fma.rn.f32", "w=www", &[row]), [w(-f * f)]);
}

#[test]
fn a_reciprocal_is_a_division() {
    let rows = pairs(&[w(3.0), w(-0.0), w(f32::INFINITY), NAN, w(TINY)], &[0]);
    let expected = [w(1.0 / 3.0), w(f32::NEG_INFINITY), w(0.0), NAN, w(f32::INFINITY)];
    assert_eq!(compute("rcp.rn.f32", "w=w", &rows), expected);
    assert_eq!(compute("sqrt.rn.f32", "w=w", &rows[1..4]), [w(-0.0), w(f32::INFINITY), NAN]);
}

#[test]
fn signs_are_taken_and_given() {
    let rows = pairs(&[w(-1.0), w(-0.0), w(TINY)], &[w(2.0), w(-3.0)]);
    let expected = [-2.0, -3.0, -2.0, -3.0, 2.0, 3.0].map(w);
    assert_eq!(compute("copysign.f32", "w=ww", &rows), expected);
    assert_eq!(compute("abs.f32", "w=w", &rows[..1]), [w(1.0)]);
    assert_eq!(compute("neg.f32", "w=w", &rows[2..3]), [w(0.0)]);
    let rows = pairs(&[d(-1.0), d(0.0)], &[d(2.0), d(-3.0)]);
    assert_eq!(compute("copysign.f64", "d=dd", &rows), [-2.0, -3.0, 2.0, 3.0].map(d));
}

#[test]
fn the_less_of_a_number_and_a_nan_is_the_number_unless_asked() {
    let rows: Vec<_> = [[1.0, 2.0], [0.0, -0.0], [-0.0, 0.0], [TINY, -TINY]]
        .map(|[a, b]| [w(a), w(b), 0, 0])
        .into_iter()
        .chain([[NAN, w(1.0), 0, 0], [w(1.0), NAN, 0, 0], [0xffc0_0001, NAN, 0, 0]])
        .collect();
    let least = [w(1.0), w(-0.0), w(-0.0), w(-TINY)];
    let most = [w(2.0), w(0.0), w(0.0), w(TINY)];
    for (form, numbers, with_nan) in [
        ("min.f32", least, [w(1.0), w(1.0), NAN]),
        ("max.f32", most, [w(1.0), w(1.0), NAN]),
        ("min.NaN.f32", least, [NAN; 3]),
        ("max.NaN.f32", most, [NAN; 3]),
    ] {
        let expected: Vec<_> = numbers.into_iter().chain(with_nan).collect();
        assert_eq!(compute(form, "w=ww", &rows), expected, "{form}");
    }
    let rows =
        [[d(0.0), d(-0.0), 0, 0], [d(1.0), d(f64::NAN), 0, 0], [d(f64::NAN), d(f64::NAN), 0, 0]];
    assert_eq!(compute("min.f64", "d=dd", &rows), [d(-0.0), d(1.0), NAN_64]);
    assert_eq!(compute("max.f64", "d=dd", &rows), [d(0.0), d(1.0), NAN_64]);
}

pub(crate) fn forms() -> Vec<String> {
    let both = ["fma.rn", "sqrt.rn", "rcp.rn", "neg", "abs", "copysign", "min", "max"];
    let doubles = [
        "add.rn.f64",
        "sub.rn.f64",
        "mul.rn.f64",
        "div.rn.f64",
        "add.f64",
        "sub.f64",
        "mul.f64",
        "min.NaN.f32",
        "max.NaN.f32",
    ];
    let both = both.iter().flat_map(|name| ["f32", "f64"].map(|kind| format!("{name}.{kind}")));
    // `meaning.rs` compares the rounded difference of f32.
    both.chain(doubles.map(str::to_owned)).chain(["sub.rn.f32".to_owned()]).collect()
}
