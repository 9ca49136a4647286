//! Largest element of each window.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, code, structs::PoolBits},
};
use binade_core::ops::{ImageLayout, MaxPool2dConfig};
use binade_gpu::{Driver, MaxPool2dKernels};

impl MaxPool2dKernels for Cuda {
    fn launch_max_pool2d(&self, tensors: [&Tensor; 2], config: MaxPool2dConfig) -> Result {
        let [input, result] = tensors;
        let pool = pool(input.shape(), result.shape(), config);
        self.search("max_pool2d", input, Arg::from(result), result.len(), &pool)
    }

    fn launch_max_pool2d_backward(&self, tensors: [&Tensor; 3], config: MaxPool2dConfig) -> Result {
        let [grad, input, result] = tensors;
        let pool = pool(input.shape(), grad.shape(), config);
        let winners = self.buffer(places(input.shape(), config.layout)? * grad.len())?;
        self.search("max_pool2d_winners", input, Arg::from(&winners), grad.len(), &pool)?;
        let (dtype, len) = (code("max_pool2d", result.dtype())?, result.len());
        let pool = Arg::Bytes(bytemuck::bytes_of(&pool));
        let args = args![grad, &winners, result, dtype, len, pool];
        self.launch("max_pool2d_backward", one_by_one(len), &args)
    }
}

impl Cuda {
    /// Runs `kernel`, which finds a value or a place in each window and writes it at `to`.
    fn search(
        &self,
        kernel: &'static str,
        input: &Tensor,
        to: Arg<'_>,
        windows: usize,
        pool: &PoolBits,
    ) -> Result {
        let dtype = code("max_pool2d", input.dtype())?;
        let args = args![input, to, dtype, windows, Arg::Bytes(bytemuck::bytes_of(pool))];
        self.launch(kernel, one_by_one(windows), &args)
    }
}

/// Returns the bytes of a place in a plane of these images; kernels count places in 32 bits.
fn places(image: &[usize], layout: ImageLayout) -> Result<usize> {
    let [_, _, rows, columns] = layout.extents(image).unwrap_or_default();
    let pixels = rows.checked_mul(columns);
    let fits = pixels.is_some_and(|pixels| u32::try_from(pixels).is_ok());
    let too_large =
        || Error::Driver(CudaError::TooLarge { what: "images to pool", sizes: image.to_vec() });
    fits.then_some(size_of::<u32>()).ok_or_else(too_large)
}

/// Returns the pooling of images and results as kernels read it.
fn pool(image: &[usize], output: &[usize], config: MaxPool2dConfig) -> PoolBits {
    let words = |extents: [usize; 2]| extents.map(|extent| extent as u64);
    let [image, output] = [image, output].map(|it| config.layout.extents(it).unwrap_or_default());
    PoolBits {
        image: words([image[2], image[3]]),
        output: words([output[2], output[3]]),
        kernel: words(config.kernel),
        stride: words(config.stride),
        padding: words(config.padding),
        pixel: config.layout.pixel_stride(image) as u64,
    }
}

/// Returns a grid of one thread for each element.
fn one_by_one(elements: usize) -> Grid {
    Grid::of(elements.div_ceil(THREADS as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_of_more_than_32_bits_are_too_large() {
        let first = ImageLayout::ChannelsFirst;
        assert_eq!(places(&[5, 3, 1 << 16, (1 << 16) - 1], first), Ok(4));
        assert_eq!(places(&[5, 3, 4, 1 << 31], ImageLayout::ChannelsLast), Ok(4));
        for rows in [1 << 16, usize::MAX] {
            let refused = places(&[0, 1, rows, 1 << 16], first).unwrap_err();
            assert!(matches!(refused, Error::Driver(CudaError::TooLarge { .. })), "{refused}");
        }
    }
}
