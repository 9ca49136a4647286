//! Gradients that are added up while they are scaled, and unscaled once: one scale from the first loss to the last.

use crate::common::sgd::Sgd;
use crate::common::{
    Grads, Host, HostScaler, Result, Set, bad_parts, f32s, finish, first, host, iterate, pair,
    rule, scaler, times, unscaled, w,
};
use binade_core::{DType, Named};
use binade_grad_scaler::{BadMicroBatch, DelayedUnscale, LossScale, ScaleState, ScaledSum, Step};
use proptest::prelude::*;

type HostDevice = binade_core::HostDevice<Host>;

fn one() -> Host {
    f32s(&[1.0])
}

/// Buffer of a framework that every backward pass adds to, in its own type.
struct Buffers {
    dtype: DType,
    sum: Vec<f32>,
}

impl Buffers {
    fn new(dtype: DType) -> Self {
        Self { dtype, sum: vec![0.0] }
    }

    fn add(&mut self, x: f32, factor: &Host) {
        let scaled = host(self.dtype, &[x * factor.to_f32()[0]]).to_f32()[0];
        self.sum = host(self.dtype, &[self.sum[0] + scaled]).to_f32();
    }

    fn take(self) -> Grads {
        vec![Named::new("w", Some(host(self.dtype, &self.sum)))]
    }
}

fn pass(window: &mut DelayedUnscale<HostDevice>, buffers: &mut Buffers, x: f32) -> Result {
    window.backward(&one(), |factor| {
        buffers.add(x, factor);
        Ok(())
    })
}

fn add(window: &mut ScaledSum<HostDevice>, set: Set<'_>) -> Result {
    window.backward(&one(), |factor| Ok(times(set, factor)))
}

/// The window's step, as the report has it.
fn step(scaler: &mut HostScaler, sgd: &mut Sgd, window: ScaledSum<HostDevice>) -> Result<Step> {
    finish(window.unscale()?.expect("a pass"), scaler, sgd)
}

#[test]
fn an_update_between_two_passes_does_not_move_the_windows_scale() -> Result {
    let rule = LossScale::dynamic().with_growth_interval(1).unwrap();
    let (mut scaler, mut other) = (scaler(rule), Sgd::new(&[("v", &[1.0])]));
    let (mut window, mut buffers) = (scaler.delay_unscale(), Buffers::new(DType::F32));
    pass(&mut window, &mut buffers, 3.0)?;
    drop(iterate(&mut scaler, &mut other, &[("v", &[1.0])])?);
    assert_eq!(scaler.state()?.exponent, 17);
    pass(&mut window, &mut buffers, 0.25)?;
    assert_eq!(buffers.sum[0], 3.25 * 65536.0);
    let grads = window.collect(|| Ok(buffers.take()))?.expect("two passes").unscale()?;
    assert_eq!(first(grads.grads()), [3.25]);
    Ok(())
}

#[test]
fn sixteen_bit_buffers_overflow_together_where_the_sum_in_f32_does_not() -> Result {
    let rule = LossScale::none();
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[0.0])]));
    let (mut window, mut buffers) = (scaler.delay_unscale(), Buffers::new(DType::F16));
    let mut sum = scaler.sum_scaled();
    for _ in 0..2 {
        pass(&mut window, &mut buffers, 64000.0)?;
        sum.backward(&one(), |_| Ok(vec![Named::new("w", Some(host(DType::F16, &[64e3])))]))?;
    }
    let grads = window.collect(|| Ok(buffers.take()))?.expect("two passes").unscale()?;
    let pending = grads.step(&mut sgd)?;
    assert!(!scaler.update(pending)?.resolve()?.is_applied(), "128000 is beyond f16");
    let grads = sum.unscale()?.expect("two passes");
    assert_eq!(first(grads.grads()), [128e3]);
    Ok(())
}

#[test]
fn a_window_without_a_pass_is_none_and_takes_nothing() -> Result {
    let scaler = scaler(LossScale::dynamic());
    let window = scaler.delay_unscale();
    let nothing = window.collect(|| panic!("buffers of another window may be in there"))?;
    assert!(nothing.is_none());
    assert!(scaler.sum_scaled().unscale()?.is_none());
    assert!(scaler.accumulate(BadMicroBatch::Drop).finish()?.is_none());
    Ok(())
}

#[test]
fn a_backward_pass_that_fails_is_not_counted_and_the_window_goes_on() -> Result {
    let scaler = scaler(LossScale::dynamic());
    let mut sum = scaler.sum_scaled();
    add(&mut sum, &[("w", &[1.0])])?;
    let failed = sum.backward(&one(), |loss| {
        Err(binade_core::AmpTensor::cast(loss, DType::I64).expect_err("no integers").into())
    });
    assert!(failed.is_err());
    add(&mut sum, &[("w", &[2.0])])?;
    assert_eq!(first(sum.unscale()?.expect("two").grads()), [3.0]);
    Ok(())
}

#[test]
fn a_sum_that_was_lost_to_an_error_is_none_and_never_a_part_of_itself() -> Result {
    let scaler = scaler(LossScale::dynamic());
    for failing in 0..2 {
        let mut sum = scaler.sum_scaled();
        for pass in 0..3 {
            let set: Set<'_> = if pass == failing { &[("typo", &[1.0])] } else { &[("w", &[1.0])] };
            assert_eq!(add(&mut sum, set).is_err(), pass == failing.max(1), "{failing} {pass}");
        }
        assert!(sum.unscale()?.is_none(), "{failing}");
    }
    Ok(())
}

#[test]
fn a_pass_that_overflowed_is_named_adds_nothing_and_skips_the_window_once() -> Result {
    let (mut scaler, mut sgd) = pair();
    let before = sgd.bits();
    let mut sum = scaler.sum_scaled();
    for x in [1.0, f32::NAN, f32::INFINITY, 2.0] {
        add(&mut sum, &[("w", &[x])])?;
    }
    let step = step(&mut scaler, &mut sgd, sum)?;
    assert!(matches!(step, Step::Skipped(_)), "{step:?}");
    assert_eq!((bad_parts(&step), sgd.bits()), (vec!["pass 1", "pass 2"], before));
    let scale = step.report().scale;
    assert_eq!((scale.exponent, scale.overflows, scale.skipped), (15, 1, 1));
    let verdict = &step.report().steps[0].verdict;
    assert_eq!((verdict.infinities, verdict.nans, verdict.magnitude), (1, 1, 3.0 * 65536.0));
    Ok(())
}

#[test]
fn a_sum_that_is_not_finite_before_or_after_it_is_divided_skips_as_the_part_sum() -> Result {
    for (exponent, scaled) in [(2, 3e38), (-2, 1.5e38)] {
        let rule = rule(|rule| rule.min_exponent = -20);
        let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
        scaler.set_state(ScaleState::from_exponent(exponent))?;
        let mut sum = scaler.sum_scaled();
        for _ in 0..2 {
            sum.backward(&one(), |_| Ok(w(&[scaled])))?;
        }
        let step = step(&mut scaler, &mut sgd, sum)?;
        assert!(matches!(step, Step::Skipped(_)), "{step:?}");
        assert_eq!((bad_parts(&step), sgd.steps), (vec!["sum"], 0));
    }
    Ok(())
}

#[test]
fn a_window_opened_after_divergence_is_halted() -> Result {
    let (mut scaler, mut sgd) = pair();
    scaler.set_state(ScaleState { diverged: true, ..ScaleState::from_exponent(4) })?;
    let mut sum = scaler.sum_scaled();
    add(&mut sum, &[("w", &[1.0])])?;
    let step = step(&mut scaler, &mut sgd, sum)?;
    assert!(matches!(step, Step::Diverged(_)) && sgd.steps == 0, "{step:?}");
    Ok(())
}

/// A gradient, rarely one that overflowed.
fn any_gradient() -> impl Strategy<Value = f32> {
    prop_oneof![12 => -1e3_f32..1e3, 1 => Just(f32::INFINITY), 1 => Just(f32::NAN)]
}

proptest! {
    /// Compares with an accumulation window, which unscales each pass by itself, whatever moves the scale in between.
    #[test]
    fn a_sum_of_scaled_gradients_is_that_of_unscaled_ones(
        passes in prop::collection::vec((any_gradient(), any::<bool>(), any::<bool>()), 1..12),
    ) {
        let rule = LossScale::dynamic().with_growth_interval(1).unwrap();
        let (mut scaler, mut other) = (scaler(rule), Sgd::new(&[("v", &[1.0])]));
        let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
        let mut sum = scaler.sum_scaled();
        for &(x, moves, bad) in &passes {
            let set: Set<'_> = &[("w", &[x])];
            window.add(unscaled(&scaler, set).unwrap()).unwrap();
            add(&mut sum, set).unwrap();
            if moves {
                let v = if bad { f32::NAN } else { 1.0 };
                drop(iterate(&mut scaler, &mut other, &[("v", &[v])]).unwrap());
            }
        }
        let windows = [window.finish().unwrap(), sum.unscale().unwrap()];
        let weights = windows.map(|grads| {
            let mut sgd = Sgd::new(&[("w", &[1.0])]);
            drop(grads.expect("a pass").step(&mut sgd).unwrap());
            sgd.bits()
        });
        prop_assert_eq!(&weights[0], &weights[1]);
        prop_assert_eq!(weights[0].2 == 1, passes.iter().all(|pass| pass.0.is_finite()));
    }
}
