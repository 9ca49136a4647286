//! Loops over the elements of slices, by the moments that a rule keeps.

use super::{Constants, ElementState};

#[inline(always)]
pub(super) fn update<C: Constants>(
    constants: &C,
    grads: impl Iterator<Item = f32>,
    params: &mut [f32],
    [first, second, third]: [&mut [f32]; 3],
) {
    // Separate loops, so that a rule without a moment has no iterator for it.
    let each = params.iter_mut().zip(grads);
    match constants.moments() {
        0 => {
            for (param, grad) in each {
                put(constants, grad, param, []);
            }
        }
        1 => {
            for ((param, grad), first) in each.zip(first) {
                put(constants, grad, param, [first]);
            }
        }
        2 => {
            for ((param, grad), (first, second)) in each.zip(first.iter_mut().zip(second)) {
                put(constants, grad, param, [first, second]);
            }
        }
        _ => {
            let moments = first.iter_mut().zip(second).zip(third);
            for ((param, grad), ((first, second), third)) in each.zip(moments) {
                put(constants, grad, param, [first, second, third]);
            }
        }
    }
}

#[inline(always)]
fn put<C: Constants, const N: usize>(
    constants: &C,
    grad: f32,
    param: &mut f32,
    moments: [&mut f32; N],
) {
    let mut element = ElementState { param: *param, moments: [0.0; 3] };
    for (to, from) in element.moments.iter_mut().zip(&moments) {
        *to = **from;
    }
    constants.element(grad, &mut element);
    *param = element.param;
    for (to, from) in moments.into_iter().zip(element.moments) {
        *to = from;
    }
}
