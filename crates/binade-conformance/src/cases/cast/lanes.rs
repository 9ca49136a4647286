//! Casts of values beside any others in each lane of a vector, casts that saturate, and casts from and to eight bits.

use super::{cast, cast_values, starts};
use crate::cases::cast::{fits, round, value};
use crate::cases::values::{Draw, awkward};
use crate::cases::{EIGHT_BITS, FLOATS, LONG, get, put};
use crate::{Backend, CaseError, Cases, Check, Layout, Stored, SubjectError, Verdict};
use binade_core::DType;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for from in all() {
        for to in all() {
            let (name, pair) = (format!("{from}-{to}"), [from, to]);
            let sentence = "a_value_is_rounded_alike_in_every_lane";
            cases.add(&name, sentence, move |s: &S, check| alike(s, check, pair));
            if to != DType::F32 {
                let sentence = "overflow_to_the_largest_is_given_or_refused";
                cases.add(&name, sentence, move |s: &S, check| to_the_largest(s, check, pair));
            }
        }
    }
}

/// Returns the element types that are cast to each other.
pub(in crate::cases) fn all() -> impl Iterator<Item = DType> {
    FLOATS.into_iter().chain(EIGHT_BITS)
}

/// Returns codes that are rounded or decoded by different rules, nine times each, so that each is in every lane of a vector of eight.
pub(in crate::cases) fn lanes(from: DType, to: DType) -> Vec<u64> {
    let mut draw = Draw::new(7);
    let codes: Vec<u64> = match from.bytes() {
        1 => (0..256).collect(),
        2 => awkward(from).into_iter().chain((0..400).map(|_| draw.code(from))).collect(),
        _ => awkward(from).into_iter().chain(between(&mut draw, to)).collect(),
    };
    codes.into_iter().flat_map(|code| [code; 9]).collect()
}

/// Returns codes of `f32`: ties of `to` and their neighbours, and values of many binades.
fn between(draw: &mut Draw, to: DType) -> Vec<u64> {
    let mut codes = Vec::new();
    for _ in 0..100 {
        let code = draw.code(to);
        let tie = value(code, to).midpoint(value(code ^ 1, to));
        let bits = round(tie, DType::F32);
        codes.extend([bits.saturating_sub(1), bits, bits.saturating_add(1)]);
        codes.push(round(draw.spread(-60.0, 20.0), DType::F32));
    }
    codes
}

/// Returns the elements whose cast the format determines, so that the caller has no choice.
pub(in crate::cases) fn fitting(from: DType, to: DType) -> Stored {
    Stored::code_vector(
        from,
        lanes(from, to).into_iter().filter(|code| fits(value(*code, from), to)),
    )
}

fn alike<S: Backend>(s: &S, check: &mut Check, [from, to]: [DType; 2]) -> Verdict {
    let input = fitting(from, to);
    [0, 1]
        .into_iter()
        .try_for_each(|offset| super::of(s, check, &input.clone().view(Layout::Offset(offset)), to))
}

fn to_the_largest<S: Backend>(s: &S, check: &mut Check, [from, to]: [DType; 2]) -> Verdict {
    let input = Stored::code_vector(from, lanes(from, to)).view(Layout::Offset(1));
    let tensor = put(s, &input)?;
    // A subject without any casts has not refused this one.
    s.cast(&tensor, to)?;
    let result = match s.cast_saturating(&tensor, to) {
        Err(SubjectError::Unsupported(_)) => {
            // The refusal counts as the comparison.
            check.compared += 1;
            return Ok(());
        }
        result => result.map_err(CaseError::from)?,
    };
    let largest = value(round(f64::INFINITY, to) - 1, to);
    let wanted = input.values().map(|x| if x.is_nan() { x } else { x.clamp(-largest, largest) });
    let wanted: Vec<f64> = wanted.collect();
    check.exact(&[&input], &get(s, &result, to, &input.shape)?, &wanted)
}

/// Adds casts from or to eight bits, or both.
pub(super) fn narrowest<S: Backend>(cases: &mut Cases<S>) {
    for dtype in EIGHT_BITS {
        eight_bits(cases, dtype);
        for other in FLOATS {
            narrow(cases, other, dtype);
            narrow(cases, dtype, other);
        }
        for other in EIGHT_BITS {
            narrow(cases, dtype, other);
        }
    }
}

/// Adds cases of exact widening, and of narrowing with one rounding if the result is a number or the format has infinities.
///
/// Beyond 464, E4M3 saturates or overflows as the caller chooses; no case here tests this.
fn eight_bits<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(format!("{dtype}-f32"), "every_pattern", move |s: &S, check| {
        cast(s, check, [dtype, DType::F32], (0..256).collect())
    });
    let mut add = |sentence: &str, values: Vec<f64>| {
        cases.add(format!("f32-{dtype}"), sentence, move |s: &S, check| {
            cast_values(s, check, dtype, values.clone())
        });
    };
    let largest = if dtype == DType::E4M3 { 0x7e } else { 0x7b };
    let numbers = (0..largest).map(|code| [value(code, dtype), value(code + 1, dtype)]);
    add(
        "a_tie_goes_to_the_even_neighbour",
        numbers.flat_map(|[a, b]| [a, a.midpoint(b), b]).collect(),
    );
    if dtype == DType::E5M2 {
        add(
            "overflow_begins_half_an_ulp_beyond_the_largest",
            vec![61439.0, 61440.0, 61441.0, 1e30],
        );
    }
}

/// Adds cases of pairs with an eight-bit type: every pattern whose result is not the caller's choice, and lengths.
fn narrow<S: Backend>(cases: &mut Cases<S>, from: DType, to: DType) {
    if from != DType::F32 && to != DType::F32 {
        let sentence = "every_pattern_that_fits";
        cases.add(format!("{from}-{to}"), sentence, move |s: &S, check| {
            let codes = 0..1_u64 << (8 * from.bytes());
            let codes = codes.filter(|code| fits(value(*code, from), to));
            cast(s, check, [from, to], codes.collect())
        });
    }
    cases.lengths(
        format!("{from}-{to}"),
        [0, 1, 7, 9, 33, 257, 4097, LONG[2]],
        move |s: &S, check, length| {
            let mut draw = Draw::new(length);
            let codes = (0..length).map(|_| round(draw.within(-2.0, 2.0), from));
            cast(s, check, [from, to], codes.collect())
        },
    );
    starts(cases, from, to);
}
