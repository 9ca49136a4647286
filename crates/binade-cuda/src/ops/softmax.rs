//! Softmax.

use super::rows::{ROWS, ROWS2};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::{Softmax, shape};

pub(super) const KERNELS: &[&Kernel] = &[&SOFTMAX, &SOFTMAX_BACKWARD];

const SOFTMAX: Kernel = Kernel { name: "softmax", module: "softmax", params: ROWS };
const SOFTMAX_BACKWARD: Kernel =
    Kernel { name: "softmax_backward", module: "softmax", params: ROWS2 };

impl Softmax for Cuda {
    fn softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.by_row(&SOFTMAX, Op::SOFTMAX, &[input])
    }

    fn softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        shape::same(Op::SOFTMAX, grad.shape(), output.shape())?;
        self.by_row(&SOFTMAX_BACKWARD, Op::SOFTMAX, &[grad, output])
    }
}
