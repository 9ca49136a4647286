//! Values that cross threads, and a report that ends a loop.

use crate::common::remote::Gpu;
use crate::common::sgd::Sgd;
use crate::common::{Host, scaler, unscaled};
use binade_core::HostDevice;
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
