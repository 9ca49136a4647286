//! Gradients of normalisations. Each normalises groups of elements, which are seen as the channels of `[N, C, H, 1]`.

use crate::{Device, Var, ops::Outcome};
use binade_core::ops::Ops;

/// Operands of a backward call as images `[N, C, H, 1]` whose channels are the groups.
struct Groups<D: Device> {
    /// Elements of each group divided by their deviation, after the mean is taken off where there is one.
    normal: Var<D>,
    /// Reciprocal of the deviation, for each element.
    factor: Var<D>,
    centred: bool,
}

impl<D: Device + Ops> Groups<D> {
    fn new(x: &Var<D>, eps: f32, centred: bool) -> Result<Self, crate::error::Failed<D>> {
        let x = if centred { x.sub(&mean_of_each(x)?)? } else { x.clone() };
        let deviation = x.mul(&x)?.channel_means()?.plus(eps)?.sqrt()?;
        let factor = deviation.filled(1.0)?.div(&deviation)?.spread_channels(&x)?;
        Ok(Self { normal: x.mul(&factor)?, factor, centred })
    }

    /// Returns the gradient of the input, from that of the normalised elements: `(g − mean(g) − x̂·mean(g·x̂)) / deviation`.
    fn of_input(&self, grad: &Var<D>) -> Outcome<D> {
        let Self { normal, factor, centred } = self;
        let along = normal.mul(&mean_of_each(&grad.mul(normal)?)?)?;
        let rest = grad.sub(&along)?;
        let rest = if *centred { rest.sub(&mean_of_each(grad)?)? } else { rest };
        rest.mul(factor)
    }
}

/// Returns, for each element, the mean of the element's channel.
fn mean_of_each<D: Device + Ops>(x: &Var<D>) -> Outcome<D> {
    x.channel_means()?.spread_channels(x)
}

/// Returns the rows of the last axis as channels.
fn rows_as_channels<D: Device + Ops>(x: &Var<D>) -> Outcome<D> {
    let rows = x.rows()?.shape();
    x.reshape(&[1, rows[0], rows[1], 1])
}

/// Computes the gradients of input, weight and bias of a layer normalisation.
pub(super) fn layer_norm<D: Device + Ops>(
    operand: usize,
    taken: &[Var<D>],
    eps: f32,
) -> Outcome<D> {
    by_rows(operand, taken, eps, true)
}

/// Computes the gradients of input and weight of a normalisation by the root mean square.
pub(super) fn rms_norm<D: Device + Ops>(operand: usize, taken: &[Var<D>], eps: f32) -> Outcome<D> {
    by_rows(operand, taken, eps, false)
}

fn by_rows<D: Device + Ops>(
    operand: usize,
    taken: &[Var<D>],
    eps: f32,
    centred: bool,
) -> Outcome<D> {
    let [grad, x, weight] = taken else { unreachable!("a backward call takes three tensors") };
    let rows = grad.rows()?;
    if operand == 2 {
        return rows.channel_sums();
    }
    let groups = Groups::new(&rows_as_channels(x)?, eps, centred)?;
    if operand == 1 {
        return rows.mul(&groups.normal.reshape(&rows.shape())?)?.channel_sums();
    }
    let weighted = rows.mul(&weight.spread_channels(&rows)?)?;
    groups.of_input(&rows_as_channels(&weighted)?)?.reshape(&x.shape())
}

/// Computes the gradients of input, weight and bias of a normalisation over the batch.
pub(super) fn batch_norm<D: Device + Ops>(
    operand: usize,
    taken: &[Var<D>],
    eps: f32,
) -> Outcome<D> {
    let [grad, x, weight] = taken else { unreachable!("a backward call takes three tensors") };
    let shape = x.shape();
    let images = [shape[0], shape[1], shape[2..].iter().product(), 1];
    let grad = grad.reshape(&images)?;
    if operand == 2 {
        return grad.channel_sums();
    }
    let groups = Groups::new(&x.reshape(&images)?, eps, true)?;
    if operand == 1 {
        return grad.mul(&groups.normal)?.channel_sums();
    }
    groups.of_input(&grad.mul(&weight.spread_channels(&grad)?)?)?.reshape(&shape)
}

/// Computes `y·(g − Σ g·y)` by rows.
pub(super) fn softmax<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    let (grad, output) = (rows_as_channels(&taken[0])?, rows_as_channels(&taken[1])?);
    let sums = grad.mul(&output)?.channel_sums()?.spread_channels(&grad)?;
    output.mul(&grad.sub(&sums)?)?.reshape(&taken[1].shape())
}

/// Computes `g − exp(y)·Σ g` by rows.
pub(super) fn log_softmax<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    let (grad, output) = (rows_as_channels(&taken[0])?, rows_as_channels(&taken[1])?);
    let sums = grad.channel_sums()?.spread_channels(&grad)?;
    grad.sub(&output.exp()?.mul(&sums)?)?.reshape(&taken[1].shape())
}
