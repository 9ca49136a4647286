//! A window of host tensors of one's own that is saved in its middle goes on where it was.

use crate::common::{Host, Result, Unscaled, f32s, pair, scaler, unscaled};
use binade_core::Named;
use binade_grad_scaler::{Accumulation, BadMicroBatch, LossScale, ScaleState, Scaler};

type Window = Accumulation<binade_core::HostDevice<Host>>;

fn params(w: &[f32]) -> Vec<Named<Host>> {
    vec![Named::new("b", f32s(&[9.0])), Named::new("w", f32s(w))]
}

/// The sum by name, and the parts that were left out.
fn finished(window: Window) -> Result<(Vec<f32>, Vec<f32>, Vec<String>)> {
    let parts = window.save()?.parts;
    let bad = parts.into_iter().filter(|part| part.finding.is_raised()).map(|part| part.name);
    let sum: Unscaled = window.finish()?.expect("micro-batches");
    let of = |place: usize| sum.grads()[place].value.as_ref().map(Host::to_f32);
    Ok((of(0).unwrap_or_default(), of(1).unwrap_or_default(), bad.collect()))
}

#[test]
fn a_window_goes_on_where_it_was_saved() -> Result {
    let scaler = scaler(LossScale::dynamic());
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    let w = Named::new("w", Some(f32s(&[1.0, 2.0])));
    window.add(scaler.check_unscaled(vec![w, Named::new("b", None)])?)?;
    window.add(unscaled(&scaler, &[("w", &[f32::NAN, 1.0]), ("b", &[1.0])])?)?;
    let mut again = scaler.reopen(&params(&[7.0, 7.0]), &window.save()?).expect("its parameters");
    for window in [&mut window, &mut again] {
        window.add(unscaled(&scaler, &[("w", &[0.5, 0.25]), ("b", &[3.0])])?)?;
    }
    let sum = finished(again)?;
    assert_eq!(sum, (vec![1.5, 2.25], vec![3.0], vec!["micro-batch 1".to_owned()]));
    assert_eq!(sum, finished(window)?);
    Ok(())
}

#[test]
fn a_window_of_other_parameters_is_not_opened() -> Result {
    let scaler = scaler(LossScale::dynamic());
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    window.add(unscaled(&scaler, &[("w", &[1.0, 2.0])])?)?;
    let refused = scaler.reopen(&params(&[0.0; 3]), &window.save()?).map(drop).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("`w`: found f32 [2], expected f32 [3]"), "{text}");
    Ok(())
}

#[test]
fn a_skip_that_was_found_before_a_window_was_saved_counts_after_it_is_opened() -> Result {
    for (bad, skipped) in [(BadMicroBatch::SkipWindow, 1), (BadMicroBatch::Drop, 0)] {
        let (mut scaler, mut sgd) = pair();
        let mut window = scaler.accumulate(bad);
        window.add(unscaled(&scaler, &[("w", &[f32::INFINITY])])?)?;
        let params = vec![Named::new("w", f32s(&[1.0]))];
        let mut again = scaler.reopen(&params, &window.save()?).expect("its parameters");
        again.add(unscaled(&scaler, &[("w", &[1.0])])?)?;
        let step = again.finish()?.expect("two").step(&mut sgd)?;
        let [outcome] = Scaler::update_each([&mut scaler], step)?;
        let step = outcome.resolve()?;
        let ScaleState { overflows, skipped: counted, .. } = step.report().scale;
        assert_eq!((overflows, counted), (1, skipped), "{bad:?}");
    }
    Ok(())
}
