//! Steps by sparse gradients, for subjects whose handle supports them.

use crate::{Clip, Result, SubjectError, TrainingDevice};
use binade_core::ops::SparseEmbedding;
use binade_core::{FoundInf, Gradient, Named, NamedGrads, SparseGrads};
use binade_grad_scaler::{Norm, ScaleState};
use binade_master_weights::{OptimizerConfig, UpdateRule};

/// Gradient of a look-up, with its indices.
#[derive(Clone, Debug)]
pub struct LookupGrad<T> {
    /// Gradient, whose shape is that of the indices with the row's width appended.
    pub grad: T,
    /// Indices in `i64`.
    pub indices: T,
    /// Number of rows of the table.
    pub rows: usize,
}

/// Scaled gradients of one micro-batch.
#[derive(Clone, Debug)]
pub struct SparseBatch<T> {
    /// Gradient of each table.
    pub lookups: Vec<Named<LookupGrad<T>>>,
    /// Scale of the gradients.
    pub scale: ScaleState,
}

/// Steps of tables by sparse gradients.
#[derive(Clone, Debug)]
pub struct SparseRun<T> {
    /// Tables.
    pub params: Vec<Named<T>>,
    /// Rule of all steps.
    pub rule: UpdateRule,
    /// Micro-batches of each step; several are added up.
    pub steps: Vec<Vec<SparseBatch<T>>>,
    /// Norm to which each step's gradients are clipped.
    pub max_norm: Option<f32>,
}

/// Result of a [`SparseRun`].
#[derive(Clone, Debug)]
pub struct SparseResult<T> {
    /// Tables after the steps.
    pub params: Vec<Named<T>>,
    /// Gradients of the last step, unscaled and dense.
    pub grads: NamedGrads<T>,
    /// Found-inf result of the last step.
    pub found: FoundInf,
}

/// Runs steps by the handle's [`SparseEmbedding`] and returns their result, for [`Subject::sparse`](crate::Subject::sparse).
///
/// # Errors
///
/// The device's.
pub fn sparse<D>(device: &D, run: SparseRun<D::Tensor>) -> Result<SparseResult<D::Tensor>>
where
    D: TrainingDevice<Grads: From<SparseGrads<D::Tensor>> + Clone> + SparseEmbedding,
{
    let SparseRun { mut params, rule, steps, max_norm } = run;
    let mut masters = device.masters(&mut params, &OptimizerConfig::new(rule)?)?;
    let mut last = None;
    for batches in steps {
        let (mut grads, mut found, scale) = unscaled(device, batches)?;
        if let Some(max) = max_norm {
            super::sets::limit(device, &mut grads, Clip::Norm(Norm::L2, max), &mut found)?;
        }
        device.step(&mut params, &mut masters, grads.clone(), &found)?;
        last = Some((grads, found, scale));
    }
    let none = || SubjectError::failed("a run takes at least one step");
    let (grads, found, scale) = last.ok_or_else(none)?;
    let found = super::read(device, &found, &scale)?;
    Ok(SparseResult { params, grads: device.materialise(grads)?, found })
}

/// Unscaled gradients with their found-inf result, and the scale that divided them.
type Unscaled<D> = (
    <D as binade_core::GradSet>::Grads,
    <D as binade_core::GradSet>::Found,
    <D as binade_grad_scaler::ScaleStore>::Scale,
);

/// Returns the gradients of one micro-batch, or the sum of several.
fn unscaled<D>(device: &D, mut batches: Vec<SparseBatch<D::Tensor>>) -> Result<Unscaled<D>>
where
    D: TrainingDevice<Grads: From<SparseGrads<D::Tensor>>> + SparseEmbedding,
{
    let several = batches.len() > 1;
    let none = || SubjectError::failed("a step takes at least one micro-batch");
    let one = |batch: SparseBatch<D::Tensor>| {
        let mut grads = gradients(device, batch.lookups)?;
        let scale = device.upload_state(batch.scale)?;
        let found = device.unscale(&mut grads, &scale)?;
        Ok::<_, SubjectError>((grads, found, scale))
    };
    if !several {
        return one(batches.pop().ok_or_else(none)?);
    }
    let mut sum = None;
    for batch in batches {
        let (grads, found, _) = one(batch)?;
        sum = Some(device.accumulate(sum, grads, &found)?);
    }
    let (mut grads, scale) =
        (sum.ok_or_else(none)?, device.upload_state(ScaleState::from_exponent(0))?);
    let found = device.unscale(&mut grads, &scale)?;
    Ok((grads, found, scale))
}

fn gradients<D>(device: &D, lookups: Vec<Named<LookupGrad<D::Tensor>>>) -> Result<D::Grads>
where
    D: TrainingDevice<Grads: From<SparseGrads<D::Tensor>>> + SparseEmbedding,
{
    let one = |Named { name, value: LookupGrad { grad, indices, rows } }: Named<_>| {
        let gradient = device.sparse_embedding_backward(&[(&grad, &indices)], rows)?;
        Ok(Named { name, value: Some(Gradient::Sparse(gradient)) })
    };
    let all = lookups.into_iter().map(one).collect::<Result<_>>()?;
    Ok(SparseGrads(all).into())
}
