//! The hyperbolic tangent, from where it is the identity to where it is one.

use super::ask::{Ask, Asks, Computes, i64s, ones, refusals, uniform, values};
use super::values::{awkward, finite, in_every_lane, offsets};
use super::{FLOATS, SHORT};
use crate::{Agreement, Arithmetic, CaseGroup::Tanh, Check, OpInvocation, Stored, Verdict, Wanted};
use binade_core::{DType, ErrorKind};

pub(super) fn add_cases(cases: &mut Asks) {
    for dtype in FLOATS {
        for length in SHORT {
            cases.add(Tanh, dtype, format!("all_of_{length}_elements"), move |s, check| {
                both(s, check, &uniform(length, dtype, &[length], [-4.0, 4.0]), 0)
            });
        }
        cases.add(Tanh, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, length)| {
                both(s, check, &uniform(length, dtype, &[length], [-4.0, 4.0]), offset)
            })
        });
        cases.add(Tanh, dtype, "every_magnitude_keeps_its_digits", move |s, check| {
            both(s, check, &Stored::vector(dtype, finite(1, 257, dtype, [-13.0, 6.0])), 0)
        });
        cases.add(Tanh, dtype, "a_nan_gives_a_nan_and_infinity_one", move |s, check| {
            let codes = in_every_lane(awkward(dtype));
            both(s, check, &Stored::from_codes(dtype, &[codes.len()], codes), 0)
        });
    }
    let all = vec![
        (OpInvocation::Tanh, vec![i64s(&[2], [1, 2])]),
        (OpInvocation::TanhBackward, vec![ones(DType::F32, &[2]), ones(DType::F32, &[3])]),
        (OpInvocation::TanhBackward, vec![ones(DType::F16, &[2]), ones(DType::F32, &[2])]),
    ];
    refusals(cases, Tanh, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Forward, and backward from what the oracle says forward gave.
fn both(s: &dyn Computes, check: &mut Check, x: &Stored, offset: usize) -> Verdict {
    let y = tanh(&values(x));
    let rounded = Stored::vector(x.dtype, y.iter().map(|y| y.value));
    Ask::new(OpInvocation::Tanh, &[x]).at(offset).near(s, check, [(x.dtype, y)])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&rounded));
    Ask::new(OpInvocation::TanhBackward, &[&g, &rounded]).at(offset).near(
        s,
        check,
        [(x.dtype, wanted)],
    )
}

/// Returns how near a result must come: within the mass that the oracle works out from the error of a device's
/// own `tanh`.
pub(super) const fn agreement(_: Arithmetic) -> Agreement {
    Agreement::Bound { c: 1.0 }
}

// The oracle.

/// `tanh(x)`: 3 ulps, of which a device's own function is allowed 2, make 6·2^-24 of the value.
fn tanh(x: &[f64]) -> Vec<Wanted> {
    x.iter().map(|x| x.tanh()).map(|y| Wanted::near(y, 6.0 * y.abs())).collect()
}

/// `grad·(1 − y²)` from the result `y`: the square, the difference and the product are each rounded once.
fn backward(grad: &[f64], y: &[f64]) -> Vec<Wanted> {
    let one = |(&g, &y): (&f64, &f64)| {
        let slope = 1.0 - y * y;
        Wanted::near(g * slope, g.abs() * (y * y + 2.0 * slope.abs()))
    };
    grad.iter().zip(y).map(one).collect()
}
