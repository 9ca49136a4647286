//! Part of a tensor along one axis.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_core::ops::shape::Part;
use binade_gpu::NarrowKernels;

impl NarrowKernels for Wgpu {
    fn launch_narrow(&self, whole: &Tensor, part: &Part, result: &Tensor) -> Result {
        let from = [part.first, part.stride].map(count);
        copy_lines(self, whole, result, [from, [0, count(part.len)]], part.len)
    }

    fn launch_narrow_backward(&self, piece: &Tensor, part: &Part, whole: &Tensor) -> Result {
        let to = [part.first, part.stride].map(count);
        copy_lines(self, piece, whole, [[0, count(part.len)], to], part.len)
    }
}

/// Copies lines of `len` elements. Of each tensor are given the place of its first line and the elements from one to the next.
fn copy_lines(
    wgpu: &Wgpu,
    input: &Tensor,
    result: &Tensor,
    [from, to]: [[u32; 2]; 2],
    len: usize,
) -> Result {
    for part in wgpu.parts_of(result) {
        let ((source, start), (output, _)) =
            (wgpu.whole(input)?, Bound::elements(result, part.clone()));
        let params = structs::Narrow {
            len: count(part.len()),
            dtype: code("narrow", result.dtype())?,
            start,
            first: count(part.start),
            line: count(len),
            from,
            to,
        };
        wgpu.dispatch("narrow", &params, vec![source, output], by_group(part.len()))?;
    }
    Ok(())
}
