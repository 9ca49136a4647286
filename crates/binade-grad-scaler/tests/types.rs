//! Who may cross a thread, and what may be boxed.

use crate::common::remote::Gpu;
use crate::common::sgd::Sgd;
use crate::common::{Failure, Grads, Host, Result, f32s, first, scaler, times, unscaled};
use binade_core::{FoundInf, HostDevice, Named, Optimizer};
use binade_grad_scaler::{
    Accumulation, GradOps, LinkedGrads, LossScale, PendingStep, ScaleState, ScaledGrads,
    ScaledLoss, Scaler, Step, StepOutcome, StepReport, UnscaledGrads,
};

fn crosses<T: Send + Sync + 'static>() {}

fn the_order_crosses<D: GradOps + Send + Sync + 'static>()
where
    D::Tensor: Send + Sync,
    D::Scale: Send + Sync,
    D::Found: Send + Sync,
    D::Grads: Send + Sync,
{
    crosses::<Scaler<D>>();
    crosses::<ScaledLoss<D, D::Tensor>>();
    crosses::<ScaledGrads<D>>();
    crosses::<UnscaledGrads<D>>();
    crosses::<LinkedGrads<D>>();
    crosses::<Accumulation<D>>();
    crosses::<PendingStep<D>>();
    crosses::<StepOutcome<D>>();
}

#[test]
fn every_value_of_the_order_crosses_threads_where_the_devices_values_do() {
    the_order_crosses::<HostDevice<Host>>();
    the_order_crosses::<Gpu>();
    crosses::<LossScale>();
    crosses::<ScaleState>();
    crosses::<Step>();
}

#[test]
fn backward_and_unscaling_may_run_on_another_thread() -> Result {
    let scaler = scaler(LossScale::dynamic());
    let loss = scaler.scale(&f32s(&[1.0]))?;
    let run = || loss.backward(|factor| Ok(times(&[("w", &[0.5])], factor)))?.unscale();
    let grads = std::thread::scope(|threads| threads.spawn(run).join().expect("no panic"))?;
    assert_eq!(first(grads.grads()), [0.5]);
    Ok(())
}

#[test]
fn a_device_can_be_boxed() -> Result {
    type Params = Vec<Named<Host>>;
    type Device = dyn GradOps<
            Tensor = Host,
            Error = Failure,
            Scale = ScaleState,
            Params = Params,
            Found = FoundInf,
            Grads = Grads,
        >;
    let device: Box<Device> = Box::new(HostDevice::new());
    let mut grads = times(&[("w", &[1.0])], &f32s(&[8.0]));
    let found = device.unscale(&mut grads, &ScaleState::from_exponent(3))?;
    assert_eq!((first(&grads), found.is_raised()), (vec![1.0], false));
    Ok(())
}

#[test]
fn optimizers_are_taken_boxed_and_lent() -> Result {
    let mut scaler = scaler(LossScale::dynamic());
    let mut sgd = Sgd::new(&[("w", &[1.0])]);
    let lent: &mut dyn Optimizer<Grads, FoundInf, Error = Failure> = &mut sgd;
    let step = unscaled(&scaler, &[("w", &[1.0])])?.step(lent)?;
    scaler.update(step)?.ignore();
    let mut boxed: Box<dyn Optimizer<Grads, FoundInf, Error = Failure>> = Box::new(sgd);
    let step = unscaled(&scaler, &[("w", &[1.0])])?.step(&mut boxed)?;
    assert!(scaler.update(step)?.resolve()?.is_applied());
    Ok(())
}

#[test]
fn a_loop_may_end_with_the_report_as_its_error() {
    fn train() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut scaler = scaler(LossScale::none().with_patience(1));
        let step = unscaled(&scaler, &[("w", &[f32::NAN])])?.step(&mut Sgd::new(&[]))?;
        match scaler.update(step)?.resolve()? {
            Step::Diverged(report) => Err(report.into()),
            Step::Applied(_) | Step::Skipped(_) => Ok(()),
        }
    }
    let error = train().expect_err("diverged");
    assert!(error.to_string().contains("w[0] is NaN"), "{error}");
    assert!(error.downcast_ref::<StepReport>().is_some());
}
