//! Outcomes beyond the kit: more findings than a launch takes, and what has no gradient.

use crate::support::{Result, found, gpu, kind, vector};
use binade_autocast::Autocast;
use binade_core::{DType, ErrorKind, Named};
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore};
use binade_ops::Upload;

crate::tests![
    more_findings_than_one_launch_takes_are_all_seen,
    integers_have_no_gradient_and_are_not_cast
];

fn more_findings_than_one_launch_takes_are_all_seen() -> Result {
    let gpu = gpu();
    let [good, bad] = [1.0, f32::NAN].map(|value| found(&gpu, value));
    for (parts, verdicts, place) in [(70, 3, 0), (70, 3, 69), (70, 3, 72), (130, 0, 129)] {
        let mut all = vec![&good; parts + verdicts];
        all[place] = &bad;
        let mut scale = gpu.upload_state(ScaleState::from_exponent(16))?;
        gpu.update(&mut scale, &all[..parts], &all[parts..], &LossScale::dynamic())?;
        let before = gpu.counters().syncs;
        let (findings, state) = gpu.read(&all, &scale)?;
        assert_eq!(gpu.counters().syncs - before, 1, "all in one go");
        assert_eq!((state.exponent, state.skipped), (15, u64::from(place >= parts)));
        let raised: Vec<usize> =
            (0..all.len()).filter(|place| findings[*place].is_raised()).collect();
        assert_eq!(raised, [place]);
    }
    Ok(())
}

fn integers_have_no_gradient_and_are_not_cast() -> Result {
    let gpu = gpu();
    let labels = gpu.upload_i64(&[0], &[1])?;
    let scale = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = vec![Named::new("labels", Some(labels))].into();
    assert_eq!(kind(gpu.unscale(&mut grads, &scale)), ErrorKind::Unsupported);
    let floats = vector(&gpu, &[1.0], DType::F32);
    for to in [DType::I64, DType::U8, DType::F64] {
        assert_eq!(kind(gpu.cast(&floats, to)), ErrorKind::Unsupported);
    }
    let labels = gpu.upload_i64(&[1, -2], &[2])?;
    assert_eq!(kind(gpu.cast(&labels, DType::F32)), ErrorKind::Unsupported);
    Ok(())
}
