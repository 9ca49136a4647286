//! Tensors of one value.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::Kernel,
    launch::{
        Arg,
        Param::{Address, F32, U32, U64},
    },
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::{Fill, shape};

pub(super) const KERNELS: &[&Kernel] = &[&FILL];

const FILL: Kernel = Kernel { name: "fill", module: "fill", params: &[Address, U32, U64, F32] };

impl Fill for Cuda {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let code = code("fill", dtype)?;
        let shape = &*shape::fill(shape)?;
        let result = self.unset(dtype, shape)?;
        let (to, len) = (Arg::Address(result.address()), Arg::U64(result.len() as u64));
        self.launch(&FILL, elementwise(result.len()), &[to, Arg::U32(code), len, Arg::F32(value)])?;
        Ok(result)
    }
}
