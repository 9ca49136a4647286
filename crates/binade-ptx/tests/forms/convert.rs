//! Forms of conversion.

use half::{bf16, f16};

use super::{
    arithmetic::{Type, low},
    compute::{assert_is, compute, pairs},
};

/// Holds a conversion from an integer to what its type means; those of floats have a test of their own.
#[expect(clippy::cast_precision_loss, reason = "rounded before, so that nothing is lost")]
pub(super) fn check(form: &str) {
    let parts: Vec<_> = form.split('.').collect();
    let Some(from) = Type::named(parts[parts.len() - 1]) else {
        return assert!(FLOATS.contains(&form), "no test of {form}");
    };
    let mut edges = from.edges();
    edges.extend(
        [(1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 53) + 3].map(|edge| low(edge, from.1)),
    );
    let to = Type::named(parts[parts.len() - 2]);
    let letter = to.map_or(if parts[2] == "f64" { 'd' } else { 'w' }, Type::letter);
    assert_is(
        form,
        &format!("{letter}={}", from.letter()),
        &pairs(&edges, &[0]),
        |[a, ..]| match (to, parts[2]) {
            // Integers grow by their sign and shrink to their low bits.
            (Some(to), _) => low(from.value(a), to.1),
            (None, "f64") => (rounded(from.value(a), 53) as f64).to_bits(),
            (None, _) => (rounded(from.value(a), 24) as f32).to_bits().into(),
        },
    );
}

/// Conversions of floats: tested below, and `cvt.f32.f16` and those to one of 16 bits by the fixtures' casts.
const FLOATS: [&str; 7] = [
    "cvt.f64.f32",
    "cvt.rn.f32.f64",
    "cvt.f32.f16",
    "cvt.rn.f16.f32",
    "cvt.rn.bf16.f32",
    "cvt.rn.f16x2.f32",
    "cvt.rn.bf16x2.f32",
];

#[test]
fn a_wider_register_gives_its_low_bits() {
    assert_eq!(compute("cvt.u32.u8", "w=w", &[[0x1234_56f8, 0, 0, 0]]), [0xf8]);
    assert_eq!(compute("cvt.s64.s16", "d=w", &[[0x1234_8000, 0, 0, 0]]), [0xffff_ffff_ffff_8000]);
}

/// Rounds a number to this many bits of significand, to nearest, ties to even, on the number's own bits.
fn rounded(value: i128, bits: u32) -> i128 {
    let size = value.unsigned_abs();
    let drop = (128 - size.leading_zeros()).saturating_sub(bits);
    let (kept, rest) = (size >> drop, size & ((1 << drop) - 1));
    let half = if drop == 0 { 1 } else { 1_u128 << (drop - 1) };
    let up = rest > half || (rest == half && kept & 1 == 1);
    let size = i128::try_from((kept + u128::from(up && drop > 0)) << drop).unwrap();
    if value < 0 { -size } else { size }
}

#[test]
fn f64_narrows_to_the_nearest_f32_and_ties_to_even() {
    let one = 1.0_f64.to_bits();
    // The conversion drops 29 bits: a tie, one above it, a tie at an odd number.
    let edges = [one | 1 << 28, one | 1 << 28 | 1, one | 3 << 28];
    let one = u64::from(1.0_f32.to_bits());
    assert_eq!(compute("cvt.rn.f32.f64", "w=d", &pairs(&edges, &[0])), [one, one + 1, one + 2]);
    let edges =
        [1e39, -1e39, 2_f64.powi(-150), 2_f64.powi(-149), f64::NAN, 2_f64.powi(-150) * 1.01]
            .map(f64::to_bits);
    let expected = [0x7f80_0000, 0xff80_0000, 0, 1, 0x7fff_ffff, 1];
    assert_eq!(compute("cvt.rn.f32.f64", "w=d", &pairs(&edges, &[0])), expected);
    let edges = [1, 0x8000_0001, 0x7f80_0000, 0x7f80_0001];
    let expected = [
        2_f64.powi(-149).to_bits(),
        (-(2_f64.powi(-149))).to_bits(),
        f64::INFINITY.to_bits(),
        0x7fff_ffff_ffff_ffff,
    ];
    assert_eq!(compute("cvt.f64.f32", "d=w", &pairs(&edges, &[0])), expected);
}

#[test]
fn pairs_of_halves_hold_the_first_operand_above() {
    let (a, b) = (1.0 + 1.0_f32 / 256.0, -65520.0_f32);
    let row = [[u64::from(a.to_bits()), u64::from(b.to_bits()), 0, 0]];
    let f16s = u64::from(f16::from_f32(a).to_bits()) << 16 | u64::from(f16::from_f32(b).to_bits());
    let bf16s =
        u64::from(bf16::from_f32(a).to_bits()) << 16 | u64::from(bf16::from_f32(b).to_bits());
    assert_eq!(compute("cvt.rn.f16x2.f32", "w=ww", &row), [f16s]);
    assert_eq!(compute("cvt.rn.bf16x2.f32", "w=ww", &row), [bf16s]);
}
