//! Softmax.

use super::rows::{EACH, EACH2, NUMBERS, NUMBERS2, PARAMS};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::Softmax;

pub(super) const SHADERS: &[&Shader] =
    &[&SOFTMAX_NUMBERS, &SOFTMAX, &SOFTMAX_BACKWARD_NUMBERS, &SOFTMAX_BACKWARD];

/// The largest element, and the sum of the exponentials of what others fall short of it by.
pub(super) const SOFTMAX_NUMBERS: Shader =
    Shader { name: "softmax_numbers", file: "softmax", params: PARAMS, bindings: NUMBERS };
const SOFTMAX: Shader = Shader { name: "softmax", bindings: EACH, ..SOFTMAX_NUMBERS };
const SOFTMAX_BACKWARD_NUMBERS: Shader =
    Shader { name: "softmax_backward_numbers", bindings: NUMBERS2, ..SOFTMAX_NUMBERS };
const SOFTMAX_BACKWARD: Shader =
    Shader { name: "softmax_backward", bindings: EACH2, ..SOFTMAX_NUMBERS };

impl Softmax for Wgpu {
    fn softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.by_row(Op::SOFTMAX, [&SOFTMAX_NUMBERS, &SOFTMAX], &[input])
    }

    fn softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        let shaders = [&SOFTMAX_BACKWARD_NUMBERS, &SOFTMAX_BACKWARD];
        self.by_row(Op::SOFTMAX, shaders, &[grad, output])
    }
}
