//! Sum of all elements.

use super::total::{SPREAD, TOTAL};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::{DType, Op};
use binade_ops::{Sum, operands};

pub(super) const KERNELS: &[&Kernel] = &[&SUM, &SUM_BACKWARD];

const SUM: Kernel = Kernel { name: "sum", module: "sum", params: TOTAL };
const SUM_BACKWARD: Kernel = Kernel { name: "sum_backward", module: "sum", params: SPREAD };

impl Sum for Cuda {
    fn sum(&self, input: &Tensor) -> Result<Tensor, Error> {
        let dtype = operands::float(Op::SUM, &[input])?;
        self.total(&SUM, &[input], dtype)
    }

    fn sum_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::SUM, grad)?;
        self.spread(&SUM_BACKWARD, grad, shape, dtype)
    }
}
