//! Sums over whole tensors, and gradients that are one value everywhere.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{self, Address, U32, U64},
    },
    set::Chunks,
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::shape;

/// Parameters: one operand, its element type and length, the length of a chunk, partial sums, the counter of blocks, the result.
pub(super) const TOTAL: &[Param] = &[Address, U32, U64, U64, Address, Address, Address];

/// Parameters of a kernel of two operands.
pub(super) const TOTAL2: &[Param] = &[Address, Address, U32, U64, U64, Address, Address, Address];

/// Parameters: the scalar's gradient, the result, its element type and length.
pub(super) const SPREAD: &[Param] = &[Address, Address, U32, U64];

impl Cuda {
    /// Returns the f32 scalar that `kernel` computes of operands that have one element type and shape.
    ///
    /// The length of a chunk, and so the order of the additions, follows from the number of elements alone.
    pub(super) fn total(
        &self,
        kernel: &'static Kernel,
        operands: &[&Tensor],
        dtype: DType,
    ) -> Result<Tensor, Error> {
        self.has_made_all(operands)?;
        let result = self.unset(DType::F32, &[])?;
        let len = operands.first().map_or(0, |operand| operand.len() as u64);
        let mut chunks = Chunks::of(len);
        chunks.add(len);
        // Without elements one block still writes the result.
        let blocks = chunks.blocks().max(1);
        let partials = self.buffer(size_of::<f64>() * blocks as usize)?;
        let mut args: Vec<Arg<'_>> =
            operands.iter().map(|operand| Arg::Address(operand.address())).collect();
        args.extend([
            Arg::U32(code(kernel.name, dtype)?),
            Arg::U64(len),
            Arg::U64(chunks.len),
            Arg::Address(partials.address()),
            Arg::Address(self.fixed()?.done.address()),
            Arg::Address(result.address()),
        ]);
        self.launch(kernel, Grid { blocks, threads: THREADS }, &args)?;
        Ok(result)
    }

    /// Returns a tensor of one value, which `kernel` computes from a scalar's gradient and the number of elements.
    pub(super) fn spread(
        &self,
        kernel: &'static Kernel,
        grad: &Tensor,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor, Error> {
        shape::fill(shape)?;
        self.has_made_all(&[grad])?;
        let code = code("fill", dtype)?;
        let result = self.unset(dtype, shape)?;
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(result.address()),
            Arg::U32(code),
            Arg::U64(result.len() as u64),
        ];
        self.launch(kernel, elementwise(result.len()), &args)?;
        Ok(result)
    }
}
