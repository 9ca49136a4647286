//! Element types as kernels know them.

use crate::{
    Error,
    kernels::{GROUP, THREADS},
    launch::Grid,
};
use binade_core::DType;

/// Blocks beyond which a grid strides: enough to fill any GPU several times over.
const MOST_BLOCKS: u64 = 4096;

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
