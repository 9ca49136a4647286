#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod accumulation;
pub mod clipping;
pub mod convergence;
pub mod custom_op;
pub mod gradient_penalty;
pub mod lost_updates;
pub mod own_tensor;
pub mod policy_overrides;
pub mod two_losses;

use binade::grad_scaler::StepReport;
use binade::prelude::*;
use binade_cpu::Tensor;

/// What every page returns: its numbers, or whatever went wrong, in the words of whoever noticed.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The report of a step that was applied; of any other, the report's text as an error.
fn applied(step: &Step) -> Result<&StepReport> {
    if step.is_applied() { Ok(step.report()) } else { Err(step.report().to_string().into()) }
}

/// The report of a step that was applied or skipped: a run may go on.
fn not_diverged(step: &Step) -> Result<&StepReport> {
    match step {
        Step::Applied(report) | Step::Skipped(report) => Ok(report),
        Step::Diverged(report) => Err(report.to_string().into()),
    }
}

/// An f32 parameter.
fn parameter(name: &str, values: &[f32], shape: &[usize]) -> Result<Named<Tensor>> {
    Ok(Named::new(name, Tensor::new(values.to_vec(), shape)?))
}
