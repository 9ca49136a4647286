//! Elementwise sum.

use super::pointwise::ZIP;
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::Add;

pub(super) const KERNELS: &[&Kernel] = &[&ADD];

const ADD: Kernel = Kernel { name: "add", module: "add", params: ZIP };

impl Add for Cuda {
    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::ADD, &ADD, a, b)
    }

    fn add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        self.has_made_all(&[grad])?;
        Ok([grad.clone(), grad.clone()])
    }
}
