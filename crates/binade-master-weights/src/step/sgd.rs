//! One step of stochastic gradient descent.

use crate::SgdConstants;

/// State of one element of a parameter, which a step changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The parameter.
    pub(crate) param: f32,
    /// Its momentum; ignored where the rule has none.
    pub(crate) momentum: f32,
}

/// The parameter and its momentum after one gradient, unscaled and clipped.
#[inline(always)]
#[must_use]
pub(crate) fn element(c: &SgdConstants, grad: f32, mut x: Cell) -> Cell {
    let mut grad = grad;
    if c.weight_decay != 0.0 {
        grad = x.param.mul_add(c.weight_decay, grad);
    }
    if c.momentum != 0.0 {
        x.momentum = if c.first { grad } else { grad.mul_add(c.undamped, x.momentum * c.momentum) };
        grad = if c.nesterov { x.momentum.mul_add(c.momentum, grad) } else { x.momentum };
    }
    x.param = grad.mul_add(c.negative_lr, x.param);
    x
}

/// [`element`] over slices; the lengths were checked.
#[inline(always)]
pub(super) fn update(
    c: &SgdConstants,
    grads: &[f32],
    params: &mut [f32],
    [momentum, ..]: [&mut [f32]; 3],
) {
    if c.momentum == 0.0 {
        for (param, &grad) in params.iter_mut().zip(grads) {
            *param = element(c, grad, Cell { param: *param, momentum: 0.0 }).param;
        }
        return;
    }
    for ((param, momentum), &grad) in params.iter_mut().zip(momentum).zip(grads) {
        let x = element(c, grad, Cell { param: *param, momentum: *momentum });
        (*param, *momentum) = (x.param, x.momentum);
    }
}
