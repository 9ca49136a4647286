//! Storage types of host slices.

use crate::DType;
use half::{bf16, f16};

mod sealed {
    pub trait Sealed {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
}

/// An element type that host slices are stored in; arithmetic happens in `f32`.
///
/// Sealed: the set is fixed by what backends have kernels for.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static
{
    /// Its name at run time.
    const DTYPE: DType;

    /// Widens, exactly.
    fn to_f32(self) -> f32;

    /// Rounds once, to nearest even.
    fn from_f32(value: f32) -> Self;
}

impl Element for bf16 {
    const DTYPE: DType = DType::BF16;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        bf16::from_f32(value)
    }
}

impl Element for f16 {
    const DTYPE: DType = DType::F16;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
}
