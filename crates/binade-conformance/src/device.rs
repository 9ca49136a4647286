//! A subject's methods by the traits of its handle, which users call.

mod multi_tensor;
mod scale;
mod sets;
mod sparse;

pub use multi_tensor::{SetCall, SetResult, multi_tensor};
pub(crate) use scale::{iterate, merge, update_scale};
pub(crate) use sets::{accumulate, clip, norm, train};
pub use sparse::{LookupGrad, SparseBatch, SparseResult, SparseRun, sparse};

use crate::{OpInvocation, Result, SubjectError};
use binade_core::ops::Ops;
use binade_core::{FoundInf, Handle};
use binade_grad_scaler::ScaleStore;

/// Computes an operation by the traits of [`Ops`] and returns its results, for [`Subject::compute`](crate::Subject::compute).
///
/// # Errors
///
/// The device's error, or [`SubjectError::Failed`] if the operation takes another number of operands.
pub fn compute<D: Ops + Handle<Tensor: Clone>>(
    device: &D,
    call: &OpInvocation,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>> {
    let wrong = || format!("{call:?} does not take {} operands", operands.len());
    Ok(call.run(device, operands).ok_or_else(|| SubjectError::Failed(wrong()))??)
}

/// Reads a found-inf result from the device.
fn read<D: ScaleStore>(device: &D, found: &D::Found, scale: &D::Scale) -> Result<FoundInf> {
    let (mut findings, _) = device.read(&[found], scale)?;
    findings.pop().ok_or_else(|| SubjectError::failed("read gave no finding for the one asked"))
}
