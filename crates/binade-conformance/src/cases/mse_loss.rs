//! Mean squared error: in `f32` whatever the storage.
//!
//! The oracle is the [`mean`](super::mean) of the squares.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::ask::{Ask, Asks, Computes, ones, refusals, scalar, uniform, values};
use super::mean::mean;
use super::values::{awkward, in_every_lane, offsets};
use super::{FLOATS, SHORT};
use crate::agreement::count;
use crate::{
    Agreement, Arithmetic, CaseGroup::MseLoss, Check, OpInvocation, Stored, Verdict, Wanted,
};
use binade_core::{DType, ErrorKind};

pub(super) fn add_cases(cases: &mut Asks) {
    for dtype in FLOATS {
        for length in SHORT {
            cases.add(MseLoss, dtype, format!("all_of_{length}_elements"), move |s, check| {
                let [x, y] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
                both(s, check, [&x, &y], 3.0, 0)
            });
        }
        cases.add(MseLoss, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, length)| {
                let [x, y] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
                both(s, check, [&x, &y], 1.0, offset)
            })
        });
        cases.add(
            MseLoss,
            dtype,
            "squares_beyond_the_format_still_have_a_mean",
            move |s, check| {
                let [x, y] = [1024.0, -1024.0].map(|x| Stored::vector(dtype, vec![x; 33]));
                both(s, check, [&x, &y], 1.0, 0)
            },
        );
        cases.add(MseLoss, dtype, "squares_below_the_format_still_add_up", move |s, check| {
            let [x, y] = [2.0_f64.powi(-13), 0.0].map(|x| Stored::vector(dtype, vec![x; 4096]));
            both(s, check, [&x, &y], 65536.0, 0)
        });
        cases.add(MseLoss, dtype, "a_nan_shows", move |s, check| {
            let x = Stored::vector(dtype, [1.0, f64::NAN, 2.0]);
            both(s, check, [&x, &Stored::vector(dtype, [1.0, 2.0, 3.0])], 1.0, 0)?;
            let codes = in_every_lane(awkward(dtype));
            let all = Stored::from_codes(dtype, &[codes.len()], codes);
            both(s, check, [&all, &ones(dtype, &all.shape)], 1.0, 0)
        });
        cases.add(MseLoss, dtype, "what_is_hit_to_the_bit_has_no_loss", move |s, check| {
            (1..10).try_for_each(|length| {
                let zeros = Stored::vector(dtype, vec![0.0; length]);
                let ask = Ask::new(OpInvocation::MseLoss, &[&zeros, &zeros]);
                ask.exact(s, check, [(DType::F32, vec![0.0])])
            })
        });
    }
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let all = vec![
        (OpInvocation::MseLoss, vec![float(&[2]), float(&[3])]),
        (OpInvocation::MseLoss, vec![float(&[2]), ones(DType::F16, &[2])]),
        (OpInvocation::MseLossBackward, vec![ones(DType::F16, &[]), float(&[2]), float(&[2])]),
        (OpInvocation::MseLossBackward, vec![float(&[1]), float(&[2]), float(&[2])]),
    ];
    refusals(cases, MseLoss, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// The loss, NaN for nothing, and both gradients for a scalar from above.
fn both(
    s: &dyn Computes,
    check: &mut Check,
    [x, y]: [&Stored; 2],
    grad: f64,
    offset: usize,
) -> Verdict {
    let (a, b) = (values(x), values(y));
    let ask = Ask::new(OpInvocation::MseLoss, &[x, y]).at(offset);
    ask.near(s, check, [(DType::F32, vec![mse_loss(&a, &b)])])?;
    let wanted = backward(grad, &a, &b).map(|wanted| (x.dtype, wanted));
    Ask::new(OpInvocation::MseLossBackward, &[&scalar(grad), x, y])
        .at(offset)
        .near(s, check, wanted)
}

/// Returns how near a result must come: within the mass that the oracle works out from the roundings in `f32`.
pub(super) const fn agreement(_: Arithmetic) -> Agreement {
    Agreement::Bound { c: 1.0 }
}

// The oracle.

/// The mean of `(x − y)²`. The mass is the mean's, and 4·2^-24 of each term: a difference, squared, is rounded three times.
fn mse_loss(x: &[f64], y: &[f64]) -> Wanted {
    let squares: Vec<f64> = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).collect();
    let Wanted { value, mass, .. } = mean(&squares);
    Wanted::near(value, mass + 4.0 * value)
}

/// `±2·(x − y)·grad / count`: a difference, a factor of two roundings and two products.
fn backward(grad: f64, x: &[f64], y: &[f64]) -> [Vec<Wanted>; 2] {
    let n = count(x.len());
    let towards = |x: &[f64], y: &[f64]| {
        let values = x.iter().zip(y).map(|(x, y)| 2.0 * (x - y) * grad / n);
        values.map(|value| Wanted::near(value, 6.0 * value.abs())).collect()
    };
    [towards(x, y), towards(y, x)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_what_central_differences_say() {
        let (x, y, h) = ([0.5, -1.0, 2.0], [1.0, 1.5, -0.25], 1e-6);
        let [dx, dy] = backward(3.0, &x, &y);
        for i in 0..3 {
            let moved = |by: f64| {
                let mut x = x;
                x[i] += by;
                3.0 * mse_loss(&x, &y).value
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((difference - dx[i].value).abs() <= 1e-8, "{i}");
            assert!((dx[i].value + dy[i].value).abs() <= 1e-15, "{i}");
        }
    }
}
