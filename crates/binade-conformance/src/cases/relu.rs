//! The rectified linear unit: NaN, both zeros, and the gradient at the corner.
//!
//! The oracle compares, and computes nothing.

use super::prelude::*;

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        cases.lengths(dtype, SHORT, move |run, length| {
            both(run, &uniform(length, dtype, &[length], [-2.0, 2.0]), 0)
        });
        cases.starts(dtype, move |run, offset, length| {
            both(run, &uniform(length, dtype, &[length], [-2.0, 2.0]), offset)
        });
        cases.add(dtype, "a_nan_stays_a_nan_and_passes_its_gradient_on", move |run| {
            let codes = in_every_lane(awkward(dtype));
            let all = Stored::from_codes(dtype, &[codes.len()], codes);
            both(run, &all, 0)?;
            let passed = (dtype, values(&all));
            OpCase::new(OpInvocation::ReluBackward, &[&all, &ones(dtype, &[all.len()])])
                .exact(run, [passed])
        });
        cases.add(dtype, "the_gradient_at_zero_is_zero", move |run| {
            let y = Stored::vector(dtype, [0.0; 5]);
            let g = Stored::vector(dtype, [1.0, -1.0, f64::INFINITY, f64::NAN, -0.0]);
            OpCase::new(OpInvocation::ReluBackward, &[&g, &y]).exact(run, [(dtype, vec![0.0; 5])])
        });
        cases.add(dtype, "a_zero_of_either_sign_gives_plus_zero", move |run| {
            let x = Stored::vector(dtype, [0.0, -0.0]);
            OpCase::new(OpInvocation::Relu, &[&x]).exact(run, [(dtype, vec![0.0; 2])])
        });
    }
    let all = vec![
        (OpInvocation::Relu, vec![i64s(&[2], [1, 2])]),
        (OpInvocation::ReluBackward, vec![ones(DType::F32, &[2]), ones(DType::F32, &[3])]),
        (OpInvocation::ReluBackward, vec![ones(DType::F16, &[2]), ones(DType::F32, &[2])]),
    ];
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Forward, and backward from what the oracle says forward gave.
fn both(run: &mut OpRun<'_>, x: &Stored, offset: usize) -> Verdict {
    let y = relu(&values(x));
    OpCase::new(OpInvocation::Relu, &[x]).at(offset).exact(run, [(x.dtype, y.clone())])?;
    let y = Stored::vector(x.dtype, y);
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&y));
    OpCase::new(OpInvocation::ReluBackward, &[&g, &y]).at(offset).exact(run, [(x.dtype, wanted)])
}

/// Agreement: bits. Elements are chosen, and never computed.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// `max(x, 0)`, where NaN stays NaN and either zero gives +0.
pub(super) fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x.is_nan() || x > 0.0 { x } else { 0.0 }).collect()
}

/// `grad` where the result `y` is positive or NaN, +0 elsewhere.
pub(super) fn backward(grad: &[f64], y: &[f64]) -> Vec<f64> {
    let passes = |y: f64| y.is_nan() || y > 0.0;
    grad.iter().zip(y).map(|(&g, &y)| if passes(y) { g } else { 0.0 }).collect()
}
