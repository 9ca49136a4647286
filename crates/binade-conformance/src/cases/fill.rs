//! Tensors of one value: rounded once.

use super::cast::fits;
use super::prelude::*;
use crate::OpInvocation::Fill;

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS.into_iter().chain(EIGHT_BITS) {
        cases.lengths(dtype, SHORT, move |run, length| {
            let shape = vec![length];
            run.exact(
                Fill { value: 0.1, shape, dtype },
                &[],
                [(dtype, vec![f64::from(0.1_f32); length])],
            )
        });
        cases.add(dtype, "the_value_is_rounded_once_to_nearest_even", move |run| {
            values(dtype).into_iter().try_for_each(|value| {
                run.exact(
                    Fill { value, shape: vec![3, 3], dtype },
                    &[],
                    [(dtype, vec![f64::from(value); 9])],
                )
            })
        });
    }
    let shapes = [vec![usize::MAX, 2], vec![HUGE], vec![HUGE, 4, HUGE], vec![0, HUGE, 8]];
    let fill = |shape| (Fill { value: 0.5, shape, dtype: DType::F32 }, "");
    too_large(cases, shapes.map(fill));
}

/// Returns zeros, ties, numbers just below and above the overflow threshold, numbers of every binade, and values that are not finite.
fn values(dtype: DType) -> Vec<f32> {
    let half_ulp = match dtype {
        DType::BF16 => 2.0_f32.powi(-8),
        DType::E4M3 => 2.0_f32.powi(-4),
        DType::E5M2 => 2.0_f32.powi(-3),
        _ => 2.0_f32.powi(-11),
    };
    let edges =
        [0.0, 65519.996, 65520.0, 61439.0, 61440.0, 464.0, f32::MAX, f32::INFINITY, f32::NAN];
    let binades = (-30..10).map(|exponent| 2.0_f32.powi(exponent));
    let rounded =
        binades.flat_map(|x| [1.0, 1.5, 1.0 + half_ulp, 1.0 + 3.0 * half_ulp].map(|y| x * y));
    let positive =
        edges.into_iter().chain([1e-8, 1e-20, f32::MIN_POSITIVE, f32::from_bits(1)]).chain(rounded);
    positive.filter(|x| fits(f64::from(*x), dtype)).flat_map(|x| [x, -x]).collect()
}
