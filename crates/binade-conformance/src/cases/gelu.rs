//! The Gaussian error linear unit: the exact form, over the whole range.

use super::ask::{Ask, Asks, Computes, i64s, ones, refusals, uniform, values};
use super::values::{in_every_lane, nans, offsets};
use super::{FLOATS, SHORT};
use crate::oracle::gelu::{backward, gelu};
use crate::{Check, Compute, Operation::Gelu, Stored, Verdict};
use binade_core::{DType, ErrorKind};

pub(super) fn add(cases: &mut Asks) {
    for dtype in FLOATS {
        for length in SHORT {
            cases.add(Gelu, dtype, format!("all_of_{length}_elements"), move |s, check| {
                both(s, check, &uniform(length, dtype, &[length], [-4.0, 4.0]), 0)
            });
        }
        cases.add(Gelu, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, length)| {
                both(s, check, &uniform(length, dtype, &[length], [-4.0, 4.0]), offset)
            })
        });
        cases.add(Gelu, dtype, "it_is_the_exact_form_and_not_that_by_tanh", move |s, check| {
            let values = (-40..=40).map(|x| f64::from(x) / 8.0);
            both(s, check, &Stored::vector(dtype, values), 0)
        });
        cases.add(Gelu, dtype, "the_lower_tail_keeps_its_digits", move |s, check| {
            both(s, check, &Stored::vector(dtype, (0..40).map(|x| -4.0 - f64::from(x) / 8.0)), 0)
        });
        cases.add(Gelu, dtype, "far_out_it_is_the_identity_and_zero", move |s, check| {
            let far = [30.0, 1000.0, 0.0].into_iter().flat_map(|x: f64| [[x; 8], [-x; 8]].concat());
            both(s, check, &Stored::vector(dtype, far), 0)
        });
        cases.add(Gelu, dtype, "a_nan_gives_a_nan", move |s, check| {
            let codes = in_every_lane(nans(dtype));
            both(s, check, &Stored::from_codes(dtype, &[codes.len()], codes), 0)
        });
    }
    let all = vec![
        (Compute::Gelu, vec![i64s(&[2], [1, 2])]),
        (Compute::GeluBackward, vec![ones(DType::F32, &[2]), ones(DType::F32, &[3])]),
        (Compute::GeluBackward, vec![ones(DType::F16, &[2]), ones(DType::F32, &[2])]),
    ];
    refusals(cases, Gelu, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Forward, and backward from the same input.
fn both(s: &dyn Computes, check: &mut Check, x: &Stored, offset: usize) -> Verdict {
    Ask::new(Compute::Gelu, &[x]).at(offset).near(s, check, [(x.dtype, gelu(&values(x)))])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(x));
    Ask::new(Compute::GeluBackward, &[&g, x]).at(offset).near(s, check, [(x.dtype, wanted)])
}
