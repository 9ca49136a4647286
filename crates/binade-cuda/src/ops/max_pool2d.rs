//! Largest element of each window.

use crate::{
    Cuda, CudaError, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{Address, Bytes, U32, U64},
        structs::PoolBits,
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MaxPool2d, MaxPool2dConfig, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&MAX_POOL2D, &MAX_POOL2D_BACKWARD, &MAX_POOL2D_WINNERS];

const POOL: usize = size_of::<PoolBits>();

const MAX_POOL2D: Kernel = Kernel {
    name: "max_pool2d",
    module: "max_pool2d",
    params: &[Address, Address, U32, U64, Bytes(POOL)],
};
const MAX_POOL2D_BACKWARD: Kernel = Kernel {
    name: "max_pool2d_backward",
    module: "max_pool2d",
    params: &[Address, Address, Address, U32, U64, Bytes(POOL)],
};
const MAX_POOL2D_WINNERS: Kernel = Kernel { name: "max_pool2d_winners", ..MAX_POOL2D };

impl MaxPool2d for Cuda {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        self.has_made_all(&[input])?;
        let shape = shape::max_pool2d(input.shape(), config)?;
        let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
        let result = self.unset(dtype, &shape)?;
        let pool = pool(input.shape(), &shape, config);
        self.search(&MAX_POOL2D, input, result.address(), result.len(), &pool)?;
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
        let pool = pool(input.shape(), &shape, config);
        let winners = self.buffer(places(input.shape())? * grad.len())?;
        self.search(&MAX_POOL2D_WINNERS, input, winners.address(), grad.len(), &pool)?;
        let result = self.unset(dtype, input.shape())?;
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(winners.address()),
            Arg::Address(result.address()),
            Arg::U32(code(MAX_POOL2D.name, dtype)?),
            Arg::U64(result.len() as u64),
            Arg::Bytes(bytemuck::bytes_of(&pool)),
        ];
        self.launch(&MAX_POOL2D_BACKWARD, one_by_one(result.len()), &args)?;
        Ok(result)
    }
}

impl Cuda {
    /// Runs `kernel`, which finds a value or a place in each window and writes it at `to`.
    fn search(
        &self,
        kernel: &'static Kernel,
        input: &Tensor,
        to: u64,
        windows: usize,
        pool: &PoolBits,
    ) -> Result<(), Error> {
        let args = [
            Arg::Address(input.address()),
            Arg::Address(to),
            Arg::U32(code(MAX_POOL2D.name, input.dtype())?),
            Arg::U64(windows as u64),
            Arg::Bytes(bytemuck::bytes_of(pool)),
        ];
        self.launch(kernel, one_by_one(windows), &args)
    }
}

/// Returns the bytes of a place in a plane of these images; kernels count places in 32 bits.
fn places(image: &[usize]) -> Result<usize, Error> {
    let pixels = image[2].checked_mul(image[3]);
    let fits = pixels.is_some_and(|pixels| u32::try_from(pixels).is_ok());
    let too_large =
        || Error::Driver(CudaError::TooLarge { what: "images to pool", sizes: image.to_vec() });
    fits.then_some(size_of::<u32>()).ok_or_else(too_large)
}

/// Returns the pooling of images and results `[N, C, H, W]` as kernels read it.
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

/// Returns a grid of one thread for each element, capped at `MOST_BLOCKS` blocks.
fn one_by_one(elements: usize) -> Grid {
    let blocks = elements.div_ceil(THREADS as usize).clamp(1, MOST_BLOCKS);
    Grid { blocks: u32::try_from(blocks).unwrap_or(1), threads: THREADS }
}

/// Number of blocks beyond which a grid strides.
const MOST_BLOCKS: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_of_more_than_32_bits_are_too_large() {
        assert_eq!(places(&[5, 3, 1 << 16, (1 << 16) - 1]), Ok(4));
        for rows in [1 << 16, usize::MAX] {
            let refused = places(&[0, 1, rows, 1 << 16]).unwrap_err();
            assert!(matches!(refused, Error::Driver(CudaError::TooLarge { .. })), "{refused}");
        }
    }
}
