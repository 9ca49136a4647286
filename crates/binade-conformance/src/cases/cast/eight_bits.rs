//! Casts of which one end, or both, has eight bits.

use super::{cast, cast_values, starts};
use crate::cases::cast::{fits, round, value};
use crate::cases::values::Draw;
use crate::cases::{EIGHT_BITS, FLOATS, LONG};
use crate::{Backend, Cases};
use binade_core::DType;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
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

/// Widened exactly; narrowed once, where the result is a number or the format has infinities.
///
/// What E4M3 makes of values beyond 464 is the caller's choice elsewhere, and no case here.
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

/// Pairs with a type of eight bits in them: every pattern whose result is no choice of the caller's, and lengths.
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
