//! Clipping by groups: each by the norm of its own gradients, and nobody else touched.

use crate::common::sgd::Sgd;
use crate::common::{Failure, Host, Result, Set, Unscaled, f32s, host, scaler, unscaled};
use binade_core::{DType, Error, ErrorKind, Named};
use binade_grad_scaler::{ClipGroup, LossScale, Norm, ScaleState, Step, UnscaledGrads};

const SET: Set<'_> = &[("a", &[3.0, 0.0]), ("b", &[4.0]), ("c", &[6.0, -8.0]), ("d", &[1e6])];

fn of(set: Set<'_>) -> Result<Unscaled> {
    unscaled(&scaler(LossScale::none()), set)
}

fn l2(names: &[&str], max: f32) -> ClipGroup {
    ClipGroup::new(names.iter().copied(), Norm::L2, max)
}

fn values(grads: &Unscaled) -> Vec<Vec<f32>> {
    let data = |grad: &Named<Option<Host>>| grad.value.as_ref().map(Host::to_f32);
    grads.grads().iter().filter_map(data).collect()
}

#[test]
fn a_groups_norm_that_is_not_finite_skips_and_names_the_first_such_group() -> Result {
    let set: Set<'_> = &[("a", &[1.0]), ("b", &[3e38; 2]), ("c", &[3e38; 2])];
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(set));
    let before = sgd.bits();
    let groups = [l2(&["a"], 1.0), l2(&["c"], 1.0), l2(&["b"], 1.0)];
    let step = unscaled(&scaler, set)?.clip_groups(&groups)?.step(&mut sgd)?;
    let Step::Skipped(report) = scaler.update(step)?.resolve()? else { panic!("not skipped") };
    assert_eq!(&*report.overflow().expect("one").parameter, "norm of the group of `c`");
    assert_eq!((report.steps[0].verdict.infinities, report.steps[0].norm), (0, None));
    assert_eq!(sgd.bits(), before);
    Ok(())
}

#[test]
fn gradients_of_f16_are_clipped_in_f32_as_they_are_once_unscaled() -> Result {
    let scaler = scaler(LossScale::dynamic());
    assert_eq!(scaler.state()?, ScaleState::from_exponent(16));
    let small = [3.0 * 2.0_f32.powi(-30), 4.0 * 2.0_f32.powi(-30)];
    let large = [small[0] * 65536.0, small[1] * 65536.0];
    let loss = scaler.scale(&f32s(&[1.0]))?;
    let set = || Ok(vec![Named::new("a", Some(host(DType::F16, &large)))]);
    let grads = loss.backward(|_| set())?.unscale()?;
    let clipped = grads.clip_groups(&[l2(&["a"], 2.5 * 2.0_f32.powi(-30))])?;
    assert_eq!(values(&clipped), [[small[0] / 2.0, small[1] / 2.0]]);
    Ok(())
}

#[test]
fn groups_that_do_not_fit_are_refused_by_name_or_value() -> Result {
    let refused = |groups: &[ClipGroup]| -> Result<Failure> {
        Ok(of(SET)?.clip_groups(groups).map(|_: UnscaledGrads<_>| ()).expect_err("does not fit"))
    };
    for max in [0.0, -0.0, -1.5, f32::NAN, f32::NEG_INFINITY] {
        let error = refused(&[l2(&["a"], 1.0), l2(&["b"], max)])?;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(&format!("{max}")), "{error}");
    }
    for (groups, named) in [
        (vec![l2(&["a"], 1.0), l2(&["b", "a"], 1.0)], "`a`"),
        (vec![l2(&["b", "c", "b"], 1.0)], "`b`"),
        (vec![l2(&["a", "weight"], 1.0)], "`weight`"),
    ] {
        let error = refused(&groups)?;
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains(named), "{error}");
    }
    Ok(())
}
