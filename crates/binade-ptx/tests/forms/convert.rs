//! Forms of conversion.

use half::{bf16, f16};

use crate::compute::{assert_is, compute, pairs};
use crate::integer::{TYPES, Type, low};

const BYTES: [Type; 2] = [Type("u8", 8, false), Type("s8", 8, true)];

fn integer_pairs() -> impl Iterator<Item = (Type, Type)> {
    let from = || BYTES.into_iter().chain(TYPES);
    TYPES
        .into_iter()
        .flat_map(move |to| from().filter(move |from| from.1 != to.1).map(move |from| (to, from)))
}

#[test]
fn integers_grow_by_their_sign_and_shrink_to_their_low_bits() {
    for (to, from) in integer_pairs() {
        let signature =
            format!("{}={}", to.letter(), if from.1 == 8 { 'h' } else { from.letter() });
        assert_is(
            &format!("cvt.{}.{}", to.0, from.0),
            &signature,
            &pairs(&from.edges(), &[0]),
            |[a, ..]| low(from.value(a), to.1),
        );
    }
    // A wider register gives its low bits.
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
#[expect(clippy::cast_precision_loss, reason = "rounded before, so that nothing is lost")]
fn integers_round_to_the_nearest_float_and_ties_to_even() {
    for kind in TYPES {
        let mut edges = kind.edges();
        edges.extend(
            [(1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 53) + 3]
                .map(|edge| low(edge, kind.1)),
        );
        let rows = pairs(&edges, &[0]);
        assert_is(
            &format!("cvt.rn.f32.{}", kind.0),
            &format!("w={}", kind.letter()),
            &rows,
            |[a, ..]| u64::from((rounded(kind.value(a), 24) as f32).to_bits()),
        );
        assert_is(
            &format!("cvt.rn.f64.{}", kind.0),
            &format!("d={}", kind.letter()),
            &rows,
            |[a, ..]| (rounded(kind.value(a), 53) as f64).to_bits(),
        );
    }
}

const INPUTS: [f64; 18] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    0.499,
    -0.501,
    7.75,
    -7.75,
    3e9,
    -3e9,
    1e19,
    -1e19,
    1e30,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

const MODES: [&str; 4] = ["rni", "rzi", "rmi", "rpi"];

/// Rounds to a whole number by the mode's name, in steps of one from below.
fn whole(mode: &str, x: f64) -> f64 {
    let below = x - x.rem_euclid(1.0);
    let rest = x - below;
    let up = match mode {
        _ if rest == 0.0 || !x.is_finite() => return x,
        "rni" => rest > 0.5 || (rest == 0.5 && below.rem_euclid(2.0) == 1.0),
        "rzi" => x < 0.0,
        "rmi" => false,
        _ => true,
    };
    (below + f64::from(u8::from(up))).copysign(x)
}

#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "held to the type's range, which the cast does"
)]
fn floats_round_as_the_form_says_and_stay_in_range() {
    for mode in MODES {
        for kind in &TYPES[2..] {
            let range = if kind.2 {
                (-(1_i128 << (kind.1 - 1)), (1 << (kind.1 - 1)) - 1)
            } else {
                (0, (1 << kind.1) - 1)
            };
            let held = |x: f64| low((whole(mode, x) as i128).clamp(range.0, range.1), kind.1);
            let to = kind.letter();
            let rows = pairs(&INPUTS.map(f64::to_bits), &[0]);
            assert_is(
                &format!("cvt.{mode}.{}.f64", kind.0),
                &format!("{to}=d"),
                &rows,
                |[a, ..]| held(f64::from_bits(a)),
            );
            let rows = pairs(&INPUTS.map(|x| u64::from((x as f32).to_bits())), &[0]);
            assert_is(
                &format!("cvt.{mode}.{}.f32", kind.0),
                &format!("{to}=w"),
                &rows,
                |[a, ..]| held(f64::from(f32::from_bits(a as u32))),
            );
        }
        let rows = pairs(&INPUTS.map(f64::to_bits), &[0]);
        assert_is(&format!("cvt.{mode}.f64.f64"), "d=d", &rows, |[a, ..]| {
            whole(mode, f64::from_bits(a)).to_bits()
        });
        let rows = pairs(&INPUTS.map(|x| u64::from((x as f32).to_bits())), &[0]);
        assert_is(&format!("cvt.{mode}.f32.f32"), "w=w", &rows, |[a, ..]| {
            u64::from((whole(mode, f64::from(f32::from_bits(a as u32))) as f32).to_bits())
        });
    }
}

/// The ISA's chapter "cvt" names zero from f32 to 32 bits, and else the highest bit alone.
#[test]
fn a_nan_becomes_the_integer_that_the_isa_names() {
    let (narrow, wide) = ([[0x7fc0_0000, 0, 0, 0]], [[f64::NAN.to_bits(), 0, 0, 0]]);
    for mode in MODES {
        let form = |kinds: &str| format!("cvt.{mode}.{kinds}");
        for kinds in ["s32.f32", "u32.f32"] {
            assert_eq!(compute(&form(kinds), "w=w", &narrow), [0]);
        }
        for kinds in ["s64.f32", "u64.f32"] {
            assert_eq!(compute(&form(kinds), "d=w", &narrow), [1 << 63]);
        }
        for kinds in ["s32.f64", "u32.f64"] {
            assert_eq!(compute(&form(kinds), "w=d", &wide), [1 << 31]);
        }
        for kinds in ["s64.f64", "u64.f64"] {
            assert_eq!(compute(&form(kinds), "d=d", &wide), [1 << 63]);
        }
    }
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

pub(crate) fn forms() -> Vec<String> {
    let integers = integer_pairs().map(|(to, from)| format!("cvt.{}.{}", to.0, from.0));
    let to_floats =
        TYPES.iter().flat_map(|kind| ["f32", "f64"].map(|to| format!("cvt.rn.{to}.{}", kind.0)));
    let targets = || {
        TYPES[2..].iter().flat_map(|kind| ["f32", "f64"].map(|from| format!("{}.{from}", kind.0)))
    };
    let targets = || targets().chain(["f32.f32".to_owned(), "f64.f64".to_owned()]);
    let from_floats =
        MODES.iter().flat_map(|mode| targets().map(move |target| format!("cvt.{mode}.{target}")));
    let others = ["cvt.f64.f32", "cvt.rn.f32.f64", "cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32"];
    integers.chain(to_floats).chain(from_floats).chain(others.map(str::to_owned)).collect()
}
