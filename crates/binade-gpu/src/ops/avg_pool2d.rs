//! Mean of each window, for sliding and adaptive windows.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{
    AvgPool2dConfig, OpInvocation,
    shape::{Pooling, Windows},
};

/// Windows of an average pooling in the layout of kernels: `Pooling` of `avg_pool2d.cu`, and the last parameters of `avg_pool2d.wgsl`.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PoolingBits {
    /// Windows along rows and columns: image, count, both parts of the step, length and padding.
    pub windows: [[u32; 6]; 2],
    /// Divisor of sums; 0 stands for the number of a window's elements inside the image.
    pub divisor: u32,
    /// Elements from one pixel of a channel to the next.
    pub pixel: u32,
}

impl PoolingBits {
    /// Returns the windows in the 32-bit numbers of kernels; `None` if they do not fit.
    pub fn new(pooling: &Pooling) -> Option<Self> {
        let [rows, columns] = pooling.windows.map(words);
        let divisor = u32::try_from(pooling.divisor.unwrap_or_default()).ok()?;
        let pixel = u32::try_from(pooling.pixel).ok()?;
        Some(Self { windows: [rows?, columns?], divisor, pixel })
    }
}

/// Returns the words of windows along one axis; `None` if one of them, or the image times the step's denominator, is beyond 29 bits.
/// Kernels add up to three such numbers in 32 bits.
fn words(windows: Windows) -> Option<[u32; 6]> {
    let Windows { image, count, step: [step, by], length, padding } = windows;
    let small = |extent: usize| u32::try_from(extent).ok().filter(|_| extent < 1 << 29);
    small(image.checked_mul(by)?)?;
    // One window needs no step, however long it is.
    let step = u32::try_from(step).unwrap_or(u32::MAX);
    Some([small(image)?, small(count)?, step, small(by)?, small(length)?, small(padding)?])
}

/// Driver with kernels of average pooling.
pub trait AvgPool2dKernels: Driver {
    /// Computes the last tensor, which is not empty, by this kernel: the means of images, or the images' gradient from that of the means.
    ///
    /// # Errors
    ///
    /// Returns an error for planes beyond 32 bits, and if the device fails.
    fn launch_avg_pool2d(
        &self,
        kernel: &'static str,
        tensors: [&Tensor<Self>; 2],
        of: &Pooling,
    ) -> Result<(), Self>;
}

impl<D: AvgPool2dKernels> binade_core::ops::AvgPool2d for Gpu<'_, D> {
    fn avg_pool2d(&self, input: &Tensor<D>, config: AvgPool2dConfig) -> Result<Tensor<D>, D> {
        let spec = check(self.0, &OpInvocation::AvgPool2d { config }, &[input])?;
        let of = Pooling::sliding(input.shape(), &spec.shape, config);
        pooled(self.0, "avg_pool2d", input, &spec, &of)
    }

    fn avg_pool2d_backward(
        &self,
        grad: &Tensor<D>,
        shape: &[usize],
        config: AvgPool2dConfig,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::AvgPool2dBackward { shape: shape.to_vec(), config };
        let spec = check(self.0, &call, &[grad])?;
        let of = Pooling::sliding(shape, grad.shape(), config);
        pooled(self.0, "avg_pool2d_backward", grad, &spec, &of)
    }
}

/// Returns a tensor of this type and shape, computed by this kernel.
pub(super) fn pooled<D: AvgPool2dKernels>(
    device: &D,
    kernel: &'static str,
    from: &Tensor<D>,
    TensorSpec { dtype, shape }: &TensorSpec,
    of: &Pooling,
) -> Result<Tensor<D>, D> {
    let result = device.unset(*dtype, shape)?;
    if !result.is_empty() {
        device.launch_avg_pool2d(kernel, [from, &result], of)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_beyond_29_bits_have_no_words_but_a_stride_may_be_any() {
        let of = |windows| Pooling { windows: [windows; 2], divisor: None, pixel: 1 };
        let one = |windows| PoolingBits::new(&of(windows));
        let long = Windows::sliding([5, 1], 5, usize::MAX, 0);
        assert_eq!(one(long).unwrap().windows[1], [5, 1, u32::MAX, 1, 5, 0]);
        assert!(one(Windows::sliding([1 << 29, 1], 5, 1, 0)).is_none());
        assert!(one(Windows::adaptive([1 << 15, 1 << 14])).is_none());
        assert!(one(Windows::adaptive([1 << 15, (1 << 14) - 1])).is_some());
        let divisor = Some(usize::MAX);
        assert!(PoolingBits::new(&Pooling { divisor, ..of(long) }).is_none());
        assert!(PoolingBits::new(&Pooling { pixel: 1 << 32, ..of(long) }).is_none());
    }
}
