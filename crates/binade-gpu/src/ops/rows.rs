//! Kernels on the rows of the last axis.

use super::pointwise::one_shape;
use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

/// Tensor as the rows of its last axis.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Number of rows.
    pub count: usize,
    /// Elements of a row.
    pub width: usize,
}

impl Rows {
    /// Describes a tensor; a scalar is one row of one element.
    pub fn of<D: Driver>(tensor: &Tensor<D>) -> Self {
        let (width, lead) =
            tensor.shape().split_last().map_or((1, &[][..]), |(w, lead)| (*w, lead));
        Self { count: lead.iter().product(), width }
    }
}

/// Driver with kernels on the rows of the last axis.
pub trait RowKernels: Driver {
    /// Computes each row of `result` by a kernel from the same row of operands of its shape and element type. There is an element.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_rows(
        &self,
        kernel: &'static str,
        operands: &[&Tensor<Self>],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

/// Applies a kernel to each row of operands of one shape and element type. The result is like them.
pub(super) fn by_row<D: RowKernels>(
    device: &D,
    op: Op,
    kernel: &'static str,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    let shape = shape::softmax(op, one_shape(op, operands)?)?;
    let dtype = operands::float(op, operands)?;
    device.check_owners(operands)?;
    let result = device.unset(dtype, &shape)?;
    if !result.is_empty() {
        device.launch_rows(kernel, operands, &result)?;
    }
    Ok(result)
}
