//! Mean of all elements.

use super::total::{SPREAD, TOTAL};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::{DType, Op};
use binade_ops::{Mean, operands};

pub(super) const KERNELS: &[&Kernel] = &[&MEAN, &MEAN_BACKWARD];

const MEAN: Kernel = Kernel { name: "mean", module: "mean", params: TOTAL };
const MEAN_BACKWARD: Kernel = Kernel { name: "mean_backward", module: "mean", params: SPREAD };

impl Mean for Cuda {
    fn mean(&self, input: &Tensor) -> Result<Tensor, Error> {
        let dtype = operands::float(Op::MEAN, &[input])?;
        self.total(&MEAN, &[input], dtype)
    }

    fn mean_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::MEAN, grad)?;
        self.spread(&MEAN_BACKWARD, grad, shape, dtype)
    }
}
