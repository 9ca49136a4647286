//! Stochastic rounding: bit for bit from shared random words, whatever the backend.
//!
//! The words are those of [`binade_core::stochastic`], whose own tests compare them with the published answers.

use super::cast::{Format, lanes, neighbours, round, value};
use super::prelude::*;
use binade_core::stochastic::{Key, bits};

const KEY: Key = Key { seed: 0x0123_4567_89ab_cdef, parameter: 3, step: 41 };

/// Types narrower than `f32`.
const NARROW: [DType; 4] = [DType::BF16, DType::F16, DType::E4M3, DType::E5M2];

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for to in NARROW {
        roundings(cases, to);
        keys(cases, to);
        lengths(cases, to);
    }
    for from in lanes::all() {
        for to in NARROW {
            let sentence = "a_value_is_rounded_alike_in_every_lane";
            cases.add(format!("{from}-{to}"), sentence, move |s: &S, check| {
                let input = Stored::code_vector(from, lanes::lanes(from, to));
                [0, 1].into_iter().try_for_each(|offset| {
                    by(s, check, &input.clone().view(Layout::Offset(offset)), to, KEY)
                })
            });
        }
    }
    for from in [DType::BF16, DType::F16] {
        for to in EIGHT_BITS {
            let sentence = "every_pattern";
            cases.add(format!("{from}-{to}"), sentence, move |s: &S, check| {
                let input = Stored::code_vector(from, 0..65536);
                by(s, check, &input, to, KEY)
            });
        }
    }
}

/// Casts and compares every code with the oracle's.
fn by<S: Backend>(s: &S, check: &mut Check, input: &Stored, to: DType, key: Key) -> Verdict {
    let got = get(s, &s.cast_stochastic(&put(s, input)?, to, key)?, to, &input.shape)?;
    let codes = cast(input.values(), to, key);
    let wanted: Vec<f64> = codes.into_iter().map(|code| value(code, to)).collect();
    check.exact(&[input], &got, &wanted)
}

fn wide(values: impl IntoIterator<Item = f64>) -> Stored {
    Stored::vector(DType::F32, values)
}

/// Values of both signs and many binades, subnormal in some types and beyond the largest in others.
fn spread(seed: usize, length: usize) -> Stored {
    let mut draw = Draw::new(seed);
    wide((0..length).map(|_| draw.spread(-30.0, 17.0)))
}

fn roundings<S: Backend>(cases: &mut Cases<S>, to: DType) {
    let mut add = |sentence: &str, input: Stored| {
        cases.add(format!("f32-{to}"), sentence, move |s: &S, check| by(s, check, &input, to, KEY));
    };
    let held = (0..1 << (8 * to.bytes())).map(|code| value(code, to));
    add("what_the_type_holds_is_unchanged", wide(held));
    let ulps = [0.5, 0.25, 0.9, 1e-3];
    let shares = ulps.into_iter().cycle().take(4096);
    add(
        "a_value_goes_up_by_the_chance_of_what_is_cut_off",
        wide(shares.map(|x| between(1.0, x, to))),
    );
    let smallest = value(1, to);
    let subnormals = (1..4096).map(|n| f64::from(n) * smallest / 64.0);
    add("below_the_smallest_normal_too", wide(subnormals.flat_map(|x| [x, -x])));
    let tiny = (20..60).map(|n| smallest * 2.0_f64.powi(-n));
    add("what_almost_never_goes_up_stays", wide(tiny.cycle().take(4096)));
    let [below, largest] = finite_top(to);
    let top = (0..4096).map(|n| largest + f64::from(n % 40) / 32.0 * (largest - below));
    add("overflow_is_decided_after_rounding", wide(top.flat_map(|x| [x, -x])));
    let classes = Stored::code_vector(DType::F32, awkward(DType::F32));
    add("nans_infinities_zeros_and_the_edges_of_f32", classes);
    let mut draw = Draw::new(5);
    let codes = (0..20_000).map(|_| draw.code(DType::F32));
    add("patterns_at_random", Stored::code_vector(DType::F32, codes));
}

/// Returns the value at this share of the way from `x`, which the type holds, to the next number.
fn between(x: f64, share: f64, to: DType) -> f64 {
    let [low, high] = neighbours(x, to);
    low + share * (high - low)
}

/// The largest finite number of a type, and the one before.
fn finite_top(to: DType) -> [f64; 2] {
    let beyond = round(f64::INFINITY, to);
    [value(beyond - 2, to), value(beyond - 1, to)]
}

/// Adds cases of keys: the words are those of this key and no other.
fn keys<S: Backend>(cases: &mut Cases<S>, to: DType) {
    let mut add = |sentence: &str, keys: [Key; 3]| {
        cases.add(format!("f32-{to}"), sentence, move |s: &S, check| {
            keys.into_iter().try_for_each(|key| by(s, check, &spread(7, 257), to, key))
        });
    };
    let seeds = [0, 1 << 32, u64::MAX].map(|seed| Key { seed, ..KEY });
    add("both_halves_of_the_seed_count", seeds);
    add("the_step_counts", [0, 1, u32::MAX].map(|step| Key { step, ..KEY }));
    add("the_parameter_counts", [0, 1, u32::MAX].map(|parameter| Key { parameter, ..KEY }));
    let sentence = "the_index_is_the_row_major_one";
    cases.add(format!("f32-{to}"), sentence, move |s: &S, check| {
        let flat = spread(8, 210);
        [vec![3, 70], vec![5, 6, 7], vec![1, 210, 1]]
            .into_iter()
            .try_for_each(|shape| by(s, check, &Stored { shape, ..flat.clone() }, to, KEY))
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, to: DType) {
    cases.lengths(
        format!("f32-{to}"),
        LENGTHS.into_iter().chain(LONG),
        move |s: &S, check, length| by(s, check, &spread(length, length), to, KEY),
    );
    cases.views(format!("f32-{to}"), move |s: &S, check, layout, length| {
        by(s, check, &spread(length, length).view(layout), to, KEY)
    });
}

// The oracle.

/// Returns codes of `dtype` for `values`, which are `f32` numbers. Each is rounded up, away from zero, with the cut-off share as probability.
/// Overflow goes to infinity, and in E4M3, which has none, to NaN.
///
/// # Panics
///
/// For types that are not floating-point.
pub(super) fn cast(values: impl IntoIterator<Item = f64>, dtype: DType, key: Key) -> Vec<u64> {
    let format = Format::of(dtype);
    let pairs = values.into_iter().zip(0..);
    pairs.map(|(x, index)| round_by_word(x, &format, bits(key, index))).collect()
}

fn round_by_word(x: f64, format: &Format, word: u32) -> u64 {
    format.round(x, |_, [low, high]| {
        // "The mean over all words is the value, exactly, while the fraction has at most 31 bits."
        let share = (x.abs() - low) / (high - low);
        let chance = (share * 2.0_f64.powi(31)).floor() * 2.0_f64.powi(-31);
        chance + f64::from(word) * 2.0_f64.powi(-32) >= 1.0
    })
}
