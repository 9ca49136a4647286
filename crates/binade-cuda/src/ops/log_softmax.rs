//! Logarithm of softmax.

use super::rows::{ROWS, ROWS2};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::{LogSoftmax, shape};

pub(super) const KERNELS: &[&Kernel] = &[&LOG_SOFTMAX, &LOG_SOFTMAX_BACKWARD];

const LOG_SOFTMAX: Kernel = Kernel { name: "log_softmax", module: "log_softmax", params: ROWS };
const LOG_SOFTMAX_BACKWARD: Kernel =
    Kernel { name: "log_softmax_backward", module: "log_softmax", params: ROWS2 };

impl LogSoftmax for Cuda {
    fn log_softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.by_row(&LOG_SOFTMAX, Op::LOG_SOFTMAX, &[input])
    }

    fn log_softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        shape::same(Op::LOG_SOFTMAX, grad.shape(), output.shape())?;
        self.by_row(&LOG_SOFTMAX_BACKWARD, Op::LOG_SOFTMAX, &[grad, output])
    }
}
