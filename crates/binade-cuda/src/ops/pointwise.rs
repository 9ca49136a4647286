//! Element-by-element kernels: operands of one shape and type, and a result like them.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::Kernel,
    launch::{
        Arg,
        Param::{self, Address, U32, U64},
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{operands, shape};

/// Parameters of a kernel of one operand: operand, result, element type, length.
pub(super) const MAP: &[Param] = &[Address, Address, U32, U64];

/// Parameters of a kernel of two operands.
pub(super) const ZIP: &[Param] = &[Address, Address, Address, U32, U64];

impl Cuda {
    /// Applies `kernel` to each element.
    pub(super) fn map(&self, op: Op, kernel: &'static Kernel, x: &Tensor) -> Result<Tensor, Error> {
        self.has_made_all(&[x])?;
        let dtype = operands::float(op, &[x])?;
        let result = self.unset(dtype, x.shape())?;
        self.each(kernel, &[x, &result], dtype)?;
        Ok(result)
    }

    /// Applies `kernel` to each pair of elements.
    pub(super) fn zip(
        &self,
        op: Op,
        kernel: &'static Kernel,
        a: &Tensor,
        b: &Tensor,
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[a, b])?;
        let shape = shape::same(op, a.shape(), b.shape())?;
        let dtype = operands::float(op, &[a, b])?;
        let result = self.unset(dtype, &shape)?;
        self.each(kernel, &[a, b, &result], dtype)?;
        Ok(result)
    }

    /// Launches the kernel for tensors of one length, operands first and then results.
    fn each(
        &self,
        kernel: &'static Kernel,
        tensors: &[&Tensor],
        dtype: DType,
    ) -> Result<(), Error> {
        let len = tensors.first().map_or(0, |tensor| tensor.len());
        let mut args: Vec<_> = tensors.iter().map(|it| Arg::Address(it.address())).collect();
        args.extend([Arg::U32(code(kernel.name, dtype)?), Arg::U64(len as u64)]);
        self.launch(kernel, elementwise(len), &args)
    }
}
