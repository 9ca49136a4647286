//! Order of the axes of images.

use super::Permute;

/// Order of the axes of images: a setting of convolution and pooling.
///
/// A tensor has no strides, and its shape does not show the order. Kernels of convolutions are `[O, C / groups, KH, KW]` in both, and checkpoints the
/// same. [`channels_first`] and [`channels_last`] convert images.
///
/// For [`BatchNorm`](super::BatchNorm) and [`BiasAdd`](super::BiasAdd), reshape images with the channels last to `[N·H·W, C]`.
/// [`AdaptiveAvgPool2d`](super::AdaptiveAvgPool2d) and [`GroupNorm`](super::GroupNorm) only support the channels first.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ImageLayout {
    /// `[N, C, H, W]`.
    #[default]
    ChannelsFirst,
    /// `[N, H, W, C]`, the order in which Tensor Cores read images.
    ChannelsLast,
}

impl ImageLayout {
    /// Returns the extents N, C, H and W of images of this shape; `None` if it has not four axes.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::ops::ImageLayout::{ChannelsFirst, ChannelsLast};
    ///
    /// assert_eq!(ChannelsLast.extents(&[8, 32, 30, 3]), Some([8, 3, 32, 30]));
    /// assert_eq!(ChannelsLast.shape([8, 3, 32, 30]), [8, 32, 30, 3]);
    /// assert_eq!(ChannelsFirst.shape([8, 3, 32, 30]), [8, 3, 32, 30]);
    /// ```
    #[must_use]
    pub const fn extents(self, shape: &[usize]) -> Option<[usize; 4]> {
        let &[n, a, b, c] = shape else { return None };
        match self {
            Self::ChannelsFirst => Some([n, a, b, c]),
            Self::ChannelsLast => Some([n, c, a, b]),
        }
    }

    /// Returns the shape of images of the extents N, C, H and W.
    #[must_use]
    pub const fn shape(self, extents: [usize; 4]) -> [usize; 4] {
        let [n, c, h, w] = extents;
        match self {
            Self::ChannelsFirst => extents,
            Self::ChannelsLast => [n, h, w, c],
        }
    }

    /// Returns the number of elements from one pixel to the next in memory, given the extents.
    #[must_use]
    pub const fn pixel_stride(self, extents: [usize; 4]) -> usize {
        match self {
            Self::ChannelsFirst => 1,
            Self::ChannelsLast => extents[1],
        }
    }
}

/// Returns images `[N, H, W, C]` as `[N, C, H, W]`.
///
/// # Errors
///
/// The errors of [`Permute`].
pub fn channels_first<D: Permute>(device: &D, images: &D::Tensor) -> Result<D::Tensor, D::Error> {
    device.permute(images, &[0, 3, 1, 2])
}

/// Returns images `[N, C, H, W]` as `[N, H, W, C]`.
///
/// # Errors
///
/// The errors of [`Permute`].
pub fn channels_last<D: Permute>(device: &D, images: &D::Tensor) -> Result<D::Tensor, D::Error> {
    device.permute(images, &[0, 2, 3, 1])
}
