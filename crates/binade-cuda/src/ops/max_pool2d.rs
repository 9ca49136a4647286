//! The largest element of each window.

use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS, ptx},
    launch::{
        Arg, Grid,
        Param::{Address, Bytes, U32, U64},
        structs::PoolBits,
    },
};
use binade_core::Op;
use binade_ops::{MaxPool2d, MaxPool2dConfig, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&MAX_POOL2D, &MAX_POOL2D_BACKWARD];

const POOL: usize = size_of::<PoolBits>();

const MAX_POOL2D: Kernel = Kernel {
    name: "max_pool2d",
    ptx: ptx!("max_pool2d"),
    params: &[Address, Address, U32, U64, Bytes(POOL)],
};
const MAX_POOL2D_BACKWARD: Kernel = Kernel {
    name: "max_pool2d_backward",
    ptx: ptx!("max_pool2d"),
    params: &[Address, Address, Address, U32, U64, Bytes(POOL)],
};

impl MaxPool2d for Cuda {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        self.has_made_all(&[input])?;
        let shape = shape::max_pool2d(input.shape(), config)?;
        let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
        let (result, pool) = (self.unset(dtype, &shape)?, pool(input.shape(), &shape, config));
        let args = [
            Arg::Address(input.address()),
            Arg::Address(result.address()),
            Arg::U32(code(MAX_POOL2D.name, dtype)?),
            Arg::U64(result.len() as u64),
            Arg::Bytes(bytemuck::bytes_of(&pool)),
        ];
        self.launch(&MAX_POOL2D, one_by_one(result.len()), &args)?;
        Ok(result)
    }

    fn max_pool2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[grad, input])?;
        let shape = shape::max_pool2d(input.shape(), config)?;
        let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
        operands::grad(Op::MAX_POOL2D, grad, &shape, dtype)?;
        let (result, pool) =
            (self.unset(dtype, input.shape())?, pool(input.shape(), &shape, config));
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(input.address()),
            Arg::Address(result.address()),
            Arg::U32(code(MAX_POOL2D.name, dtype)?),
            Arg::U64(result.len() as u64),
            Arg::Bytes(bytemuck::bytes_of(&pool)),
        ];
        self.launch(&MAX_POOL2D_BACKWARD, one_by_one(result.len()), &args)?;
        Ok(result)
    }
}

/// Of images and results `[N, C, H, W]`.
fn pool(image: &[usize], output: &[usize], config: MaxPool2dConfig) -> PoolBits {
    let words = |extents: [usize; 2]| extents.map(|extent| extent as u64);
    PoolBits {
        image: words([image[2], image[3]]),
        output: words([output[2], output[3]]),
        kernel: words(config.kernel),
        stride: words(config.stride),
        padding: words(config.padding),
    }
}

/// A thread for each element, as far as a grid is worth its size.
fn one_by_one(elements: usize) -> Grid {
    let blocks = elements.div_ceil(THREADS as usize).clamp(1, MOST_BLOCKS);
    Grid { blocks: u32::try_from(blocks).unwrap_or(1), threads: THREADS }
}

/// Blocks beyond which a grid strides.
const MOST_BLOCKS: usize = 1 << 14;
