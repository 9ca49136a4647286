//! Several losses and optimizers: one scaler, one update.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, Unscaled, scaler, unscaled};
use binade_grad_scaler::{LossScale, StepReport, UnscaledGrads};

/// Outcome of two steps.
struct Ran {
    report: StepReport,
    /// True for each of the two optimizers that stepped.
    stepped: [bool; 2],
}

impl Ran {
    fn skipped(&self) -> Vec<&str> {
        self.report.steps.iter().filter(|s| s.skipped).map(|s| s.name.as_str()).collect()
    }
}

/// A discriminator's gradients and a generator's, named.
fn two(scaler: &HostScaler, d: &[f32], g: &[f32]) -> Result<[Unscaled; 2]> {
    let d = unscaled(scaler, &[("d.w", d)])?.named("discriminator");
    Ok([d, unscaled(scaler, &[("g.w", g)])?.named("generator")])
}

fn run(share: bool, d: &[f32], g: &[f32]) -> Result<Ran> {
    let mut scaler = scaler(LossScale::dynamic());
    let (mut sgd_d, mut sgd_g) = (Sgd::new(&[("d.w", &[1.0])]), Sgd::new(&[("g.w", &[1.0])]));
    let [d, g] = two(&scaler, d, g)?;
    let step = if share {
        let [d, g] = UnscaledGrads::skip_together([d, g])?;
        d.step(&mut sgd_d)?.and(g.step(&mut sgd_g)?)
    } else {
        d.step(&mut sgd_d)?.and(g.step(&mut sgd_g)?)
    };
    let report = scaler.update(step)?.resolve()?.report().clone();
    Ok(Ran { report, stepped: [sgd_d.steps == 1, sgd_g.steps == 1] })
}

#[test]
fn together_both_skip_and_the_report_says_for_whom() -> Result {
    let ran = run(true, &[1.0], &[f32::NAN])?;
    assert_eq!((ran.skipped(), ran.stepped), (vec!["discriminator", "generator"], [false, false]));
    assert_eq!((ran.report.scale.exponent, ran.report.scale.skipped), (15, 1));
    assert_eq!(*ran.report.overflow().expect("one").parameter, *"g.w");
    let text = ran.report.to_string();
    assert!(text.contains("discriminator: skipped together for g.w[0] is NaN"), "{text}");
    Ok(())
}

#[test]
fn a_norm_that_is_not_finite_skips_both() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let [d, g] = two(&scaler, &[3e38, 3e38], &[1.0])?;
    let [d, g] = UnscaledGrads::skip_together([d.clip_norm(1.0)?, g])?;
    let step = d.step(&mut sgd)?.and(g.step(&mut sgd)?);
    let step = scaler.update(step)?.resolve()?;
    assert!(step.report().steps.iter().all(|s| s.skipped), "{}", step.report());
    assert_eq!(sgd.steps, 0);
    Ok(())
}

#[test]
fn three_share_one_fate_whichever_overflowed_and_count_every_element_once() -> Result {
    for bad in 0..3 {
        let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
        let x = |i| [if i == bad { f32::INFINITY } else { 1.0 }];
        let all = [
            unscaled(&scaler, &[("w", &x(0))])?,
            unscaled(&scaler, &[("w", &x(1))])?,
            unscaled(&scaler, &[("w", &x(2))])?,
        ];
        let [a, b, c] = UnscaledGrads::skip_together(all)?;
        let step = a.step(&mut sgd)?.and(b.step(&mut sgd)?).and(c.step(&mut sgd)?);
        let step = scaler.update(step)?.resolve()?;
        let infinities: Vec<_> =
            step.report().steps.iter().map(|s| (s.skipped, s.verdict.infinities)).collect();
        assert_eq!(infinities, [(true, 1); 3], "{bad}");
        assert_eq!(step.report().scale.exponent, 15);
    }
    Ok(())
}
