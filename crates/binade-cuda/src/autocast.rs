//! Telling and changing element types.

use crate::{
    Cuda, Error, Tensor,
    kernels::{CAST, CAST_STOCHASTIC, GROUP, Kernel, THREADS},
    launch::{Arg, Grid},
};
use binade_autocast::Autocast;
use binade_core::{DType, cast::OnOverflow, stochastic::Key};
use binade_gpu::Driver;
use std::borrow::Cow;

/// Blocks beyond which a grid strides: enough to fill any GPU several times over.
const MOST_BLOCKS: u64 = 4096;

impl Autocast for Cuda {
    fn dtype(&self, tensor: &Tensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        if tensor.dtype() == to {
            return Ok(tensor.clone());
        }
        self.cast_overflowing(tensor, to, OnOverflow::NonFinite)
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.shape().into())
    }
}

impl Cuda {
    /// A copy with another element type, rounded to nearest even; `on_overflow` says what lies beyond its largest value.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn cast_overflowing(
        &self,
        tensor: &Tensor,
        to: DType,
        on_overflow: OnOverflow,
    ) -> Result<Tensor, Error> {
        self.convert(&CAST, tensor, to, on_overflow, &[])
    }

    /// A copy with another element type, each element rounded up or down by the random words of `key`: the same bits as
    /// [`binade_core::stochastic`] gives.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Error> {
        let words = [Arg::U64(key.seed), Arg::U32(key.step), Arg::U32(key.parameter)];
        self.convert(&CAST_STOCHASTIC, tensor, to, OnOverflow::NonFinite, &words)
    }

    fn convert(
        &self,
        kernel: &'static Kernel,
        tensor: &Tensor,
        to: DType,
        on_overflow: OnOverflow,
        more: &[Arg<'_>],
    ) -> Result<Tensor, Error> {
        self.has_made(tensor.buffer())?;
        let (from_code, to_code) = (code("cast", tensor.dtype())?, code("cast to", to)?);
        let result = self.unset(to, tensor.shape())?;
        let saturate = u32::from(on_overflow == OnOverflow::Saturate);
        let mut args = vec![
            Arg::Address(tensor.address()),
            Arg::U32(from_code),
            Arg::Address(result.address()),
            Arg::U32(to_code),
            Arg::U64(tensor.len() as u64),
            Arg::U32(saturate),
        ];
        args.extend_from_slice(more);
        self.launch(kernel, elementwise(tensor.len()), &args)?;
        Ok(result)
    }
}

/// A grid that strides over groups of so many elements.
pub(crate) fn elementwise(elements: usize) -> Grid {
    let blocks = (elements.div_ceil(GROUP) as u64).div_ceil(THREADS.into());
    let blocks = u32::try_from(blocks.clamp(1, MOST_BLOCKS)).unwrap_or(1);
    Grid { blocks, threads: THREADS }
}

/// The number that kernels know an element type by; `what` cannot be done with any other.
pub(crate) fn code(what: &'static str, dtype: DType) -> Result<u32, Error> {
    match dtype {
        DType::BF16 => Ok(0),
        DType::F16 => Ok(1),
        DType::F32 => Ok(2),
        DType::E4M3 => Ok(3),
        DType::E5M2 => Ok(4),
        _ => Err(Error::Unsupported { what, dtype }),
    }
}
