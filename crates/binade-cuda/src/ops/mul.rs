//! Elementwise product.

use super::pointwise::ZIP;
use crate::{
    Cuda, Error, Tensor,
    kernels::{Kernel, ptx},
    launch::Param::{Address, U32, U64},
};
use binade_core::Op;
use binade_ops::{Mul, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&MUL, &MUL_BACKWARD];

const MUL: Kernel = Kernel { name: "mul", ptx: ptx!("mul"), params: ZIP };
const MUL_BACKWARD: Kernel = Kernel {
    name: "mul_backward",
    ptx: ptx!("mul"),
    params: &[Address, Address, Address, Address, Address, U32, U64],
};

impl Mul for Cuda {
    fn mul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::MUL, &MUL, a, b)
    }

    fn mul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        self.has_made_all(&[grad, a, b])?;
        // In this order, so that the errors are those of two products.
        let mut dtype = grad.dtype();
        for factor in [b, a] {
            shape::same(Op::MUL, grad.shape(), factor.shape())?;
            dtype = operands::float(Op::MUL, &[grad, factor])?;
        }
        let [of_a, of_b] = [self.unset(dtype, a.shape())?, self.unset(dtype, b.shape())?];
        self.each(&MUL_BACKWARD, &[grad, a, b, &of_a, &of_b], dtype)?;
        Ok([of_a, of_b])
    }
}
