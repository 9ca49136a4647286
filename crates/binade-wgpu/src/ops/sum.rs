//! Sum of all elements.

use super::total::PARAMS;
use crate::{
    Error, Tensor, Wgpu,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_ops::{Sum, operands};

pub(super) const SHADERS: &[&Shader] = &[&SUM, &SUM_BACKWARD];

/// Also of sums.
pub(super) const SUM: Shader =
    Shader { name: "sum", file: "sum", params: PARAMS, bindings: &[(1, Read), (3, Write)] };
pub(super) const SUM_BACKWARD: Shader =
    Shader { name: "sum_backward", bindings: &[(3, Write), (4, Read)], ..SUM };

impl Sum for Wgpu {
    fn sum(&self, input: &Tensor) -> Result<Tensor, Error> {
        operands::float(Op::SUM, &[input])?;
        self.total(&SUM, &[input], 1.0, 0.0)
    }

    fn sum_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::SUM, grad)?;
        self.spread(grad, shape, dtype, 1.0)
    }
}
