//! Clipping: never by more than one, measured in f64, and a norm that is no number skips.

use crate::common::sgd::Sgd;
use crate::common::{Result, Unscaled, finish, first, scaler, unscaled};
use binade_core::{Error, ErrorKind};
use binade_grad_scaler::{LossScale, Norm};

fn grads(data: &[f32]) -> Result<Unscaled> {
    unscaled(&scaler(LossScale::none()), &[("w", data)])
}

/// Many values over many binades, the same ones each time.
fn mixed(n: u32) -> Vec<f32> {
    let value = |i: u32| {
        let bits = i.wrapping_mul(2654435761);
        let exponent = i32::from(u8::try_from(bits % 24).expect("below 24")) - 12;
        f32::from_bits(bits >> 9 | 0x3f80_0000) * 2.0_f32.powi(exponent)
    };
    (0..n).map(value).collect()
}

fn l2(data: &[f32]) -> f64 {
    data.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn three_and_four_with_a_limit_of_five_are_left_alone() -> Result {
    assert_eq!(first(grads(&[3.0, 4.0])?.clip_norm(5.0)?.grads()), [3.0, 4.0]);
    assert_eq!(first(grads(&[3.0, 4.0])?.clip_norm(2.5)?.grads()), [1.5, 2.0]);
    Ok(())
}

#[test]
fn the_l2_norm_over_all_parameters_agrees_with_f64() -> Result {
    let (w, b) = (mixed(10_000), mixed(777));
    let exact = l2(&[w.clone(), b.clone()].concat());
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let clipped = unscaled(&scaler, &[("w", &w), ("b", &b)])?.clip_norm(2.0)?;
    let mut element = 0;
    for grad in clipped.grads() {
        for x in &grad.value.as_ref().expect("a gradient").to_f32() {
            let raw = f64::from(*w.get(element).unwrap_or_else(|| &b[element - w.len()]));
            let error = f64::from(*x) / (raw * 2.0 / exact) - 1.0;
            assert!(error.abs() < 2.0 * f64::from(f32::EPSILON), "element {element}: {error:e}");
            element += 1;
        }
    }
    let step = finish(clipped, &mut scaler, &mut sgd)?;
    let norm = f64::from(step.report().steps[0].norm.expect("measured"));
    assert!((norm / exact - 1.0).abs() < f64::from(f32::EPSILON), "{norm} for {exact}");
    Ok(())
}

#[test]
fn a_norm_that_is_not_finite_skips_instead_of_stepping_by_zero() -> Result {
    for bad in [[f32::NAN, 1.0], [1.0, f32::INFINITY], [3e38, 3e38], [f32::INFINITY, f32::NAN]] {
        for norm in [Norm::L2, Norm::Infinity] {
            let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[("w", &[1.0; 2])]));
            let before = sgd.bits();
            let grads = unscaled(&scaler, &[("w", &bad)])?;
            let grads = match norm {
                Norm::L2 => grads.clip_norm(1.0)?,
                Norm::Infinity => grads.clip_inf_norm(1.0)?,
            };
            let step = finish(grads, &mut scaler, &mut sgd)?;
            let fits = bad[0] == 3e38 && norm == Norm::Infinity;
            assert_eq!(step.is_applied(), fits, "{bad:?} {norm:?}");
            assert_eq!(sgd.bits() == before, !fits, "{bad:?} {norm:?}");
        }
    }
    Ok(())
}

type Clip = fn(Unscaled, f32) -> Result<Unscaled>;

#[test]
fn limits_that_are_no_positive_number_are_refused_by_value() -> Result {
    let clips: [(Clip, &str); 3] = [
        (Unscaled::clip_norm, "clip_norm"),
        (Unscaled::clip_inf_norm, "clip_norm"),
        (Unscaled::clip_value, "clip_value"),
    ];
    for (clip, name) in clips {
        for max in [0.0, -0.0, -1.5, f32::NAN, f32::NEG_INFINITY] {
            let refused = clip(grads(&[1.0])?, max).expect_err("no limit");
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
            let text = refused.to_string();
            assert!(text.contains(name) && text.contains(&format!("{max}")), "{text}");
        }
    }
    Ok(())
}

#[test]
fn an_infinity_that_clipping_by_value_hides_still_skips() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let grads = unscaled(&scaler, &[("w", &[f32::INFINITY])])?;
    assert!(!finish(grads.clip_value(1.0)?.clip_norm(10.0)?, &mut scaler, &mut sgd)?.is_applied());
    Ok(())
}
