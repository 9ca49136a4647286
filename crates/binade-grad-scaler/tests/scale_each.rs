//! A scale for each loss: whose gradients overflow, whose scale backs off.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, Set, Unscaled, rule, scaler, unscaled};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState, Scaler, Step, UnscaledGrads};

fn two_scalers() -> [HostScaler; 2] {
    let rule = LossScale::dynamic().with_growth_interval(2).expect("above 0");
    [scaler(rule), scaler(rule)]
}

/// Both losses' gradients in one window, one step, each scale moved.
fn iterate(
    scalers: &mut [HostScaler; 2],
    sgd: &mut Sgd,
    sets: [Set<'_>; 2],
    bad: BadMicroBatch,
) -> Result<[Step; 2]> {
    let [first, second] = scalers;
    let mut window = first.accumulate(bad);
    window.add(unscaled(first, sets[0])?.named("first"))?;
    window.add(unscaled(second, sets[1])?.named("second"))?;
    let step = window.finish()?.expect("two").step(sgd)?;
    let [a, b] = Scaler::update_each([first, second], step)?;
    Ok([a.resolve()?, b.resolve()?])
}

fn exponents(steps: &[Step; 2]) -> [i32; 2] {
    [0, 1].map(|loss| steps[loss].report().scale.exponent)
}

const GOOD: Set<'_> = &[("w", &[1.0])];
const BAD: Set<'_> = &[("w", &[f32::INFINITY])];

#[test]
fn an_overflow_in_one_loss_skips_the_step_and_backs_off_its_own_scale_alone() -> Result {
    let (mut scalers, mut sgd) = (two_scalers(), Sgd::new(&[("w", &[8.0])]));
    let steps = iterate(&mut scalers, &mut sgd, [GOOD, BAD], BadMicroBatch::SkipWindow)?;
    assert_eq!((exponents(&steps), sgd.steps), ([16, 15], 0));
    let counted = |step: &Step| {
        let ScaleState { good_steps, overflows, skipped, .. } = step.report().scale;
        (good_steps, overflows, skipped)
    };
    assert_eq!(steps.each_ref().map(counted), [(1, 0, 0), (0, 1, 1)]);
    for step in &steps {
        assert!(matches!(step, Step::Skipped(_)), "{}", step.report());
        let part = &step.report().steps[0].parts[1];
        assert!(part.name.contains("second") && part.finding.is_raised(), "{}", part.name);
    }
    Ok(())
}

#[test]
fn scales_grow_apart_and_the_sum_stays_exact() -> Result {
    let (mut scalers, mut sgd) = (two_scalers(), Sgd::new(&[("w", &[8.0])]));
    let (mut together, mut control) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[8.0])]));
    for set in [BAD, GOOD, GOOD, GOOD, GOOD] {
        drop(iterate(&mut scalers, &mut sgd, [GOOD, set], BadMicroBatch::SkipWindow)?);
        let mut window = together.accumulate(BadMicroBatch::SkipWindow);
        window.add(unscaled(&together, GOOD)?)?;
        window.add(unscaled(&together, set)?)?;
        let step = window.finish()?.expect("two").step(&mut control)?;
        together.update(step)?.ignore();
    }
    let [first, second] = scalers;
    assert_eq!((first.state()?.exponent, second.state()?.exponent), (18, 17));
    assert_eq!((sgd.bits(), sgd.steps), (control.bits(), 4));
    Ok(())
}

#[test]
fn two_optimizers_of_two_losses_skip_alone_or_together_and_scales_move_by_their_own() -> Result {
    for together in [false, true] {
        let [mut first, mut second] = two_scalers();
        let mut sgds = [Sgd::new(&[("w", &[8.0])]), Sgd::new(&[("w", &[8.0])])];
        let (a, b) = (unscaled(&first, GOOD)?, unscaled(&second, BAD)?);
        let [sgd_a, sgd_b] = &mut sgds;
        let step = if together {
            let [a, b] = UnscaledGrads::skip_together([a, b])?;
            a.step(sgd_a)?.and(b.step(sgd_b)?)
        } else {
            a.step(sgd_a)?.and(b.step(sgd_b)?)
        };
        let [a, b] = Scaler::update_each([&mut first, &mut second], step)?;
        assert_eq!(exponents(&[a.resolve()?, b.resolve()?]), [16, 15]);
        assert_eq!(sgds.map(|sgd| sgd.steps), [u32::from(!together), 0]);
    }
    Ok(())
}

#[test]
fn a_micro_batch_that_either_window_leaves_out_is_no_skip_of_its_loss() -> Result {
    use BadMicroBatch::{Drop, SkipWindow};
    for inner in [Drop, SkipWindow] {
        for outer in [Drop, SkipWindow] {
            let ([mut first, mut second], mut sgd) = (two_scalers(), Sgd::new(&[("w", &[8.0])]));
            let mut within = first.accumulate(inner);
            within.add(unscaled(&first, BAD)?)?;
            within.add(unscaled(&first, GOOD)?)?;
            let mut window = first.accumulate(outer);
            window.add(within.finish()?.expect("two"))?;
            window.add(unscaled(&second, GOOD)?)?;
            let step = window.finish()?.expect("two").step(&mut sgd)?;
            let [a, _b] = Scaler::update_each([&mut first, &mut second], step)?;
            let step = a.resolve()?;
            let skipped = (inner, outer) == (SkipWindow, SkipWindow);
            let ScaleState { overflows, skipped: counted, .. } = step.report().scale;
            assert_eq!(step.is_applied(), !skipped, "{inner:?} in {outer:?}");
            assert_eq!((overflows, counted), (1, skipped.into()), "{inner:?} in {outer:?}");
        }
    }
    Ok(())
}

/// Returns scalers under which finite gradients come to the end of `f32`, and a window of these.
fn at_the_end(sets: [Set<'_>; 2], bad: BadMicroBatch) -> Result<([HostScaler; 2], Unscaled)> {
    let mut scalers = [0, 1].map(|_| scaler(rule(|rule| rule.min_exponent = -20)));
    for scaler in &mut scalers {
        scaler.set_state(ScaleState::from_exponent(0))?;
    }
    let mut window = scalers[0].accumulate(bad);
    for (scaler, set) in scalers.iter().zip(sets) {
        window.add(unscaled(scaler, set)?)?;
    }
    Ok((scalers, window.finish()?.expect("two")))
}

#[test]
fn a_sum_that_overflows_backs_off_both_scales() -> Result {
    for bad in [BadMicroBatch::Drop, BadMicroBatch::SkipWindow] {
        let sets: [Set<'_>; 2] = [&[("w", &[2e38])]; 2];
        let (([mut a, mut b], sum), mut sgd) = (at_the_end(sets, bad)?, Sgd::new(GOOD));
        let [a, b] = Scaler::update_each([&mut a, &mut b], sum.step(&mut sgd)?)?;
        assert_eq!((exponents(&[a.resolve()?, b.resolve()?]), sgd.steps), ([-1, -1], 0));
    }
    Ok(())
}

#[test]
fn a_norm_that_is_not_finite_skips_and_backs_off_none() -> Result {
    let sets: [Set<'_>; 2] = [&[("w", &[3e38, 3e38])], &[("w", &[0.0, 0.0])]];
    let ([mut a, mut b], sum) = at_the_end(sets, BadMicroBatch::SkipWindow)?;
    let mut sgd = Sgd::new(&[("w", &[8.0, 8.0])]);
    let step = sum.clip_norm(1.0)?.step(&mut sgd)?;
    let [a, b] = Scaler::update_each([&mut a, &mut b], step)?;
    for step in [a.resolve()?, b.resolve()?] {
        assert!(matches!(step, Step::Skipped(_)), "{step:?}");
        let ScaleState { exponent, overflows, .. } = step.report().scale;
        assert_eq!((exponent, overflows), (0, 0));
    }
    assert_eq!(sgd.steps, 0);
    Ok(())
}
