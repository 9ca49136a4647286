//! Backward call as a node of the record.

use super::{
    formula::{Formula, formula},
    record_backward,
};
use crate::{
    Device, TapeError, Var,
    error::Failed,
    ops::{Outcome, Saves},
    recompute::Again,
    record::{Kept, RecordedRule, Rule},
};
use binade_core::ops::{OpInvocation, Ops};
use binade_core::{DType, Op};
use std::sync::Arc;

/// Returns the recorded gradients of the operands `places` of `op`, from the gradient of its result. An exact formula of the backward
/// `call` computes them itself; of any other formula, the plain `rule` computes the values.
pub(super) fn gradients<D: Device + Ops>(
    op: Op,
    (call, kept): (&OpInvocation, &[Kept<D>]),
    rule: &Rule<D>,
    grad: &Var<D>,
    places: &[usize],
) -> Result<Vec<Option<Var<D>>>, Failed<D>> {
    let formula = formula(call).ok_or(TapeError::NoDoubleBackward { op: op.name() })?;
    let kept = kept.iter().map(|kept| kept.on(grad.tape()));
    let taken: Vec<_> = [grad.clone()].into_iter().chain(kept).collect();
    match formula {
        Formula::Exact(of) => places.iter().map(|place| of(*place, &taken).map(Some)).collect(),
        Formula::Wide(of) => {
            let mut values = rule(grad.tape().device(), grad.tensor())?;
            let record = |place: &usize| {
                let (of, place) = (of.clone(), *place);
                let value = values[place].take()?;
                Some(push(op, &taken, value, move |taken| of(place, taken)))
            };
            Ok(places.iter().map(record).collect())
        }
    }
}

/// Records `value` as the result of a backward call on `taken`, whose gradient is that of `formula`.
fn push<D: Device + Ops>(
    op: Op,
    taken: &[Var<D>],
    value: D::Tensor,
    formula: impl Fn(&[Var<D>]) -> Outcome<D> + Clone + Send + Sync + 'static,
) -> Var<D> {
    let here = &taken[0];
    let dtype = here.tape().device().dtype(&value);
    let formula = move |taken: &[Var<D>]| widened(taken, &formula)?.cast(dtype);
    let inputs: Vec<_> = taken.iter().map(Var::value).collect();
    let kept: Arc<[Kept<D>]> = inputs.iter().map(|value| value.kept()).collect();
    let (region, path) = (here.tape().region().clone(), String::new());
    let (again, of) = (Again { region, path, f: formula.clone() }, kept.clone());
    let rule = move |device: &D, grad: &D::Tensor| again.gradients(device, &of, grad);
    here.push_recorded(op, &inputs, &Saves::Inputs(&inputs), value, rule, |_| {
        RecordedRule::Own(Box::new(move |grad, place| {
            let taken: Vec<_> = kept.iter().map(|kept| kept.on(grad.tape())).collect();
            differentiate(&formula, &taken, grad, place)
        }))
    })
}

/// Computes a formula of 16-bit tensors in `f32`, as kernels do.
fn widened<D: Device>(taken: &[Var<D>], formula: impl Fn(&[Var<D>]) -> Outcome<D>) -> Outcome<D> {
    let is_narrow = |var: &Var<D>| matches!(var.dtype(), DType::BF16 | DType::F16);
    let widen = |var: &Var<D>| if is_narrow(var) { var.cast(DType::F32) } else { Ok(var.clone()) };
    formula(&taken.iter().map(widen).collect::<Result<Vec<_>, _>>()?)
}

/// Returns the recorded gradient of one operand of a formula, which is computed again for it; `None` if it does not depend on it. A node
/// that is an operand twice has its whole gradient at the first place, and none at the second.
fn differentiate<D: Device + Ops>(
    formula: impl Fn(&[Var<D>]) -> Outcome<D>,
    taken: &[Var<D>],
    grad: &Var<D>,
    place: usize,
) -> Result<Option<Var<D>>, Failed<D>> {
    let node = taken[place].value().node;
    if taken[..place].iter().any(|earlier| earlier.value().node == node) {
        return Ok(None);
    }
    let start = grad.tape().record().len();
    let value = formula(taken)?;
    if value.value().node.is_none() {
        return Ok(None);
    }
    Ok(record_backward(&value, grad.clone(), &[node], start)?.pop().flatten())
}
