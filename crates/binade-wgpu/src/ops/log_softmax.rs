//! Logarithm of softmax.

use super::rows::{EACH, EACH2, NUMBERS, PARAMS};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::LogSoftmax;

pub(super) const SHADERS: &[&Shader] =
    &[&LOG_SOFTMAX_NUMBERS, &LOG_SOFTMAX, &LOG_SOFTMAX_BACKWARD_NUMBERS, &LOG_SOFTMAX_BACKWARD];

/// The largest element, and the logarithm of the sum.
const LOG_SOFTMAX_NUMBERS: Shader =
    Shader { name: "log_softmax_numbers", file: "log_softmax", params: PARAMS, bindings: NUMBERS };
const LOG_SOFTMAX: Shader = Shader { name: "log_softmax", bindings: EACH, ..LOG_SOFTMAX_NUMBERS };
const LOG_SOFTMAX_BACKWARD_NUMBERS: Shader =
    Shader { name: "log_softmax_backward_numbers", bindings: NUMBERS, ..LOG_SOFTMAX_NUMBERS };
const LOG_SOFTMAX_BACKWARD: Shader =
    Shader { name: "log_softmax_backward", bindings: EACH2, ..LOG_SOFTMAX_NUMBERS };

impl LogSoftmax for Wgpu {
    fn log_softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.by_row(Op::LOG_SOFTMAX, [&LOG_SOFTMAX_NUMBERS, &LOG_SOFTMAX], &[input])
    }

    fn log_softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        let shaders = [&LOG_SOFTMAX_BACKWARD_NUMBERS, &LOG_SOFTMAX_BACKWARD];
        self.by_row(Op::LOG_SOFTMAX, shaders, &[grad, output])
    }
}
