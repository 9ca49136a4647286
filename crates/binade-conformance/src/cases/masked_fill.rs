//! Masked fill: masked elements get the value, and all others keep their bits.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::MaskedFill;

/// Shapes of inputs and of masks.
const SHAPES: &str = "7:7 3x5:3x5 3x5:5 2x3x5:3x5 2x2x4x8:4x8 2x3x7x9:7x9 3x2050:2050 5x3:scalar 2x3:2x3 4x1:1 0x3:3 2x0:0 1025:1025";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [shape, mask] in sized(SHAPES) {
            let sentence = format!("{}_by_a_mask_of_{}", name(&shape), name(&mask));
            cases.add(dtype, sentence, move |run| {
                let codes = awkward(dtype).into_iter().cycle().take(shape.iter().product());
                let input = Stored::from_codes(dtype, &shape, codes);
                FLOATS.into_iter().try_for_each(|of_mask| {
                    let mask = every_third(of_mask, &mask);
                    [0, 1, 3]
                        .into_iter()
                        .try_for_each(|offset| fill(&mut run.at(offset), &input, &mask, -3.3))
                })
            });
        }
        cases.starts(dtype, move |run, seed, _| {
            let input = uniform(seed, dtype, &[3, 5, 16], [-1.0, 1.0]);
            fill(run, &input, &every_third(dtype, &[5, 16]), 0.0)
        });
        cases.add(dtype, "any_element_but_a_zero_fills", move |run| {
            let mask = Stored::code_vector(dtype, in_every_lane(awkward(dtype)));
            fill(run, &uniform(1, dtype, &[mask.len()], [-1.0, 1.0]), &mask, f32::NEG_INFINITY)
        });
        cases.add(dtype, "the_value_is_rounded_once_to_nearest_even", move |run| {
            let (input, mask) = (ones(dtype, &[16]), every_third(DType::F32, &[16]));
            [0.1, 65519.0, 1.0 + 2.0_f32.powi(-9), 3.0e-8, f32::NAN, -0.0, f32::INFINITY]
                .into_iter()
                .try_for_each(|value| fill(run, &input, &mask, value))
        });
    }
    let sentence = "a_finite_value_beyond_the_range_is_an_invalid_argument";
    let beyond = [(-1e9, "f16:2 f16:2, f16:2 2"), (65520.0, "f16:2 2"), (3.4e38, "bf16:2 2")];
    let beyond = beyond.map(|(value, operands)| (MaskedFill { value }, operands));
    refusals(cases, sentence, ErrorKind::InvalidArgument, beyond);
    let misfits = "2x3 2, 2x3 3x3, 3 2x3, i64:2 2, 2 i64:2, 2x3 1x3";
    mismatches(cases, [(MaskedFill { value: 0.0 }, misfits)]);
}

/// A mask of ones, some other numbers and zeros of both signs.
fn every_third(dtype: DType, shape: &[usize]) -> Stored {
    let count = shape.iter().product();
    let one = |at: usize| [0.0, 1.0, -0.0, 0.0, -2.5][at * 7 % 5];
    Stored::from_values(dtype, shape, (0..count).map(one).collect::<Vec<f64>>())
}

fn fill(run: &mut OpRun<'_>, input: &Stored, mask: &Stored, value: f32) -> Verdict {
    let stored = Stored::vector(input.dtype, [rounded(f64::from(value), input.dtype)]);
    let wanted = filled(input, mask, stored.codes().next().unwrap_or_default());
    let wanted = Stored::code_vector(input.dtype, wanted);
    if value.is_nan() {
        let wanted = values(&wanted);
        return run.exact(MaskedFill { value }, &[input, mask], [(input.dtype, wanted)]);
    }
    run.same(MaskedFill { value }, &[input, mask], &wanted)
}

// The oracle.

/// Returns the codes of the input, with `value` where the mask, repeated, is not 0.
fn filled(input: &Stored, mask: &Stored, value: u64) -> Vec<u64> {
    let mask: Vec<f64> = values(mask);
    let each = input.codes().zip(mask.iter().cycle());
    each.map(|(code, mask)| if *mask == 0.0 { code } else { value }).collect()
}
