//! The plain loop on a host tensor of one's own: what a skip says, and what it leaves alone.

use crate::common::sgd::Sgd;
use crate::common::{Result, f32s, host, iterate, scaler};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Step};

#[test]
fn a_skip_names_the_element_and_its_parameter_and_counts_the_rest() -> Result {
    let (mut scaler, mut sgd) =
        (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0; 2]), ("b", &[0.5; 4])]));
    assert!(iterate(&mut scaler, &mut sgd, &[("w", &[0.5; 2]), ("b", &[1.0; 4])])?.is_applied());

    let bad = [0.25, f32::NEG_INFINITY, f32::NAN, f32::INFINITY];
    let step = iterate(&mut scaler, &mut sgd, &[("w", &[0.5; 2]), ("b", &bad)])?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    let overflow = report.overflow().expect("one");
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("b", 1, "-inf"));
    let finding = &report.steps[0].parts[0].finding;
    assert_eq!((finding.infinities, finding.nans), (2, 1));
    assert_eq!(finding.magnitude, 0.5 * 65536.0, "as scaled, over the whole set");
    assert_eq!((report.scale.factor_before(), report.scale.factor()), (65536.0, 32768.0));
    Ok(())
}

#[test]
fn losses_of_every_type_are_scaled_in_f32() -> Result {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let scaled = scaler(LossScale::dynamic()).scale(&host(dtype, &[3.0]))?;
        let _ = scaled.backward(|loss| {
            assert_eq!(loss, &f32s(&[3.0 * 65536.0]), "beyond f16 from {dtype}");
            Ok(Vec::new())
        })?;
    }
    Ok(())
}
