//! One step of Adam, `AdamW` or `AMSGrad`.

use crate::AdamConstants;

/// State of one element of a parameter, which a step changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The parameter.
    pub(crate) param: f32,
    /// The running mean of its gradient: torch's `exp_avg`.
    pub(crate) mean: f32,
    /// The running mean of its gradient's square: `exp_avg_sq`.
    pub(crate) square: f32,
    /// The largest of these so far: `max_exp_avg_sq`; ignored without `AMSGrad`.
    pub(crate) largest: f32,
}

/// The parameter and its moments after one gradient, unscaled and clipped.
#[inline(always)]
#[must_use]
pub(crate) fn element(c: &AdamConstants, grad: f32, mut x: Cell) -> Cell {
    x.param *= c.shrink;
    let grad = if c.weight_decay == 0.0 { grad } else { x.param.mul_add(c.weight_decay, grad) };
    x.mean = lerp(x.mean, grad, c.mean_weight);
    x.square = (c.square_weight * grad).mul_add(grad, x.square * c.beta2);
    if c.amsgrad {
        x.largest = maximum(x.largest, x.square);
    }
    let square = if c.amsgrad { x.largest } else { x.square };
    let denominator = square.sqrt() / c.root_correction + c.eps;
    x.param += (c.negative_step * x.mean) / denominator;
    x
}

/// torch's `lerp`: from whichever end is nearer, so that a weight of 1 gives `to` itself.
///
/// Itself but for a zero's sign: with a weight of 1 and `to` -0, torch's vector loop and the scalar loop of its tails
/// give opposite zeros. This is the scalar one.
#[inline(always)]
fn lerp(from: f32, to: f32, weight: f32) -> f32 {
    let way = to - from;
    if weight < 0.5 { weight.mul_add(way, from) } else { (-way).mul_add(1.0 - weight, to) }
}

/// torch's `maximum`: NaN if either is.
#[inline(always)]
fn maximum(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

/// [`element`] over slices; the lengths were checked.
#[inline(always)]
pub(super) fn update(
    c: &AdamConstants,
    grads: &[f32],
    params: &mut [f32],
    [mean, square, largest]: [&mut [f32]; 3],
) {
    let moments = mean.iter_mut().zip(square);
    let each = params.iter_mut().zip(moments).zip(grads);
    if !c.amsgrad {
        for ((param, (mean, square)), &grad) in each {
            put(c, grad, param, mean, square, &mut 0.0);
        }
        return;
    }
    for (((param, (mean, square)), &grad), largest) in each.zip(largest) {
        put(c, grad, param, mean, square, largest);
    }
}

#[inline(always)]
fn put(
    c: &AdamConstants,
    grad: f32,
    param: &mut f32,
    mean: &mut f32,
    square: &mut f32,
    largest: &mut f32,
) {
    let x = Cell { param: *param, mean: *mean, square: *square, largest: *largest };
    let x = element(c, grad, x);
    (*param, *mean, *square, *largest) = (x.param, x.mean, x.square, x.largest);
}
