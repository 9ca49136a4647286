//! Cross-entropy of class labels.

use super::rows::{Rows, blocks};
use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::Kernel,
    launch::{
        Arg,
        Param::{Address, U32, U64},
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{CrossEntropy, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&CROSS_ENTROPY, &CROSS_ENTROPY_BACKWARD];

const CROSS_ENTROPY: Kernel = Kernel {
    name: "cross_entropy",
    module: "cross_entropy",
    params: &[Address, U32, Address, U64, U64, U64, Address, Address, Address, Address, U32],
};
const CROSS_ENTROPY_BACKWARD: Kernel = Kernel {
    name: "cross_entropy_backward",
    module: "cross_entropy",
    params: &[Address, Address, U32, Address, U64, U64, Address, Address, U32],
};

impl CrossEntropy for Cuda {
    fn cross_entropy(&self, logits: &Tensor, labels: &Tensor) -> Result<Tensor, Error> {
        let dtype = check(logits, labels)?;
        self.has_made_all(&[logits, labels])?;
        let result = self.unset(DType::F32, &[])?;
        let rows = Rows::of(logits);
        let chunk = rows.chunk();
        let partials = self.buffer(size_of::<f64>() * rows.count.div_ceil(chunk))?;
        let [record, launch] = self.fault_args()?;
        let args = [
            Arg::Address(logits.address()),
            Arg::U32(code("cross_entropy", dtype)?),
            Arg::Address(labels.address()),
            Arg::U64(rows.count as u64),
            Arg::U64(rows.width as u64),
            Arg::U64(chunk as u64),
            Arg::Address(partials.address()),
            Arg::Address(self.fixed()?.done.address()),
            Arg::Address(result.address()),
            record,
            launch,
        ];
        self.launch(&CROSS_ENTROPY, blocks(rows.count.div_ceil(chunk)), &args)?;
        Ok(result)
    }

    fn cross_entropy_backward(
        &self,
        grad: &Tensor,
        logits: &Tensor,
        labels: &Tensor,
    ) -> Result<Tensor, Error> {
        let dtype = check(logits, labels)?;
        operands::scalar_grad(Op::CROSS_ENTROPY, grad)?;
        self.has_made_all(&[grad, logits, labels])?;
        let result = self.unset(dtype, logits.shape())?;
        let rows = Rows::of(logits);
        let [record, launch] = self.fault_args()?;
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(logits.address()),
            Arg::U32(code("cross_entropy", dtype)?),
            Arg::Address(labels.address()),
            Arg::U64(rows.count as u64),
            Arg::U64(rows.width as u64),
            Arg::Address(result.address()),
            record,
            launch,
        ];
        self.launch(&CROSS_ENTROPY_BACKWARD, rows.grid(), &args)?;
        Ok(result)
    }
}

/// Checks everything that does not depend on the labels' values.
fn check(logits: &Tensor, labels: &Tensor) -> Result<DType, Error> {
    shape::cross_entropy(logits.shape(), labels.shape())?;
    let dtype = operands::float(Op::CROSS_ENTROPY, &[logits])?;
    operands::integers(Op::CROSS_ENTROPY, labels)?;
    Ok(dtype)
}
