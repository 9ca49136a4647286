//! Dropout: zeroes elements at random and scales the rest.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::Kernel,
    launch::{
        Arg,
        Param::{Address, F32, U32, U64},
    },
};
use binade_core::{Op, stochastic::threshold};
use binade_gpu::Driver;
use binade_ops::{Dropout, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&DROPOUT];

const DROPOUT: Kernel = Kernel {
    name: "dropout",
    module: "dropout",
    params: &[Address, Address, Address, U32, U64, U64, F32],
};

impl Dropout for Cuda {
    /// Reads the key on the device, when the kernel runs.
    fn dropout(&self, input: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        self.has_made_all(&[input, key])?;
        let shape = shape::dropout(input.shape(), key.shape(), p)?;
        let dtype = operands::float(Op::DROPOUT, &[input])?;
        operands::integers(Op::DROPOUT, key)?;
        let result = self.unset(dtype, &shape)?;
        let args = [
            Arg::Address(input.address()),
            Arg::Address(key.address()),
            Arg::Address(result.address()),
            Arg::U32(code(DROPOUT.name, dtype)?),
            Arg::U64(input.len() as u64),
            Arg::U64(threshold(p)),
            Arg::F32(1.0 / (1.0 - p)),
        ];
        self.launch(&DROPOUT, elementwise(input.len()), &args)?;
        Ok(result)
    }

    fn dropout_backward(&self, grad: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        self.dropout(grad, key, p)
    }
}
