//! Shaders on the rows of the last axis: first two numbers for each row, then the elements one by one.

use super::operands::{by_group, pieces};
use crate::{
    Error, Result, Tensor, Wgpu, WgpuError,
    dispatch::{
        Bound, THREADS, groups,
        structs::{self, code, count},
    },
    limits::ALIGNED,
    shaders::Shader,
};
use binade_core::DType;
use binade_gpu::{Driver, RowKernels, Rows};
use std::ops::Range;

/// Elements of a row that one invocation takes before another helps.
const SHARE: usize = 8;

/// Returns the number of invocations that share `elements`: a power of two. It depends only on the number of elements, and so do the bits of their
/// sum.
pub(super) fn team(elements: usize) -> usize {
    elements.div_ceil(SHARE).next_power_of_two().min(THREADS)
}

/// Returns the parameters for a part of the rows.
pub(super) fn params(of: Rows, rows: &Range<usize>) -> structs::Rows {
    let (first, rows) = (count(rows.start), count(rows.len()));
    let (width, team) = (count(of.width), count(team(of.width)));
    structs::Rows { first, count: rows, width, team, ..structs::Rows::default() }
}

/// Divides rows of elements of `each` bytes into parts that fit in a binding of `most_bytes`. A single row that needs more is an error.
pub(super) fn row_parts(
    of: Rows,
    each: usize,
    most_bytes: u64,
) -> Result<impl Iterator<Item = Range<usize>>> {
    let bytes = of.width * each;
    let most = usize::try_from(most_bytes.saturating_sub(ALIGNED)).unwrap_or(usize::MAX);
    // The numbers of a row are two of 32 bits.
    let step = most / bytes.max(8);
    if step == 0 {
        return Err(Error::Driver(WgpuError::TooLarge { bytes, most: most as u64 }));
    }
    let all = of.count;
    Ok((0..all).step_by(step).map(move |first| first..all.min(first + step)))
}

impl RowKernels for Wgpu {
    fn launch_rows(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let numbers: &Shader = (&*format!("{kernel}_numbers")).into();
        // It binds operands, and the numbers as its last.
        let of_numbers = operands.get(..numbers.bindings.len() - 1).unwrap_or(operands);
        let numbers = self.numbers_of_rows(numbers, of_numbers)?;
        self.each_of_rows(kernel, operands, result, &numbers)
    }
}

impl Wgpu {
    /// Computes two numbers for each row, `[rows, 2]`.
    pub(super) fn numbers_of_rows(
        &self,
        shader: impl Into<&'static Shader>,
        operands: &[&Tensor],
    ) -> Result<Tensor> {
        let shader = shader.into();
        let Some(first) = operands.first() else { return Err(Error::Foreign) };
        let (rows, dtype) = (Rows::of(first), first.dtype());
        let result = self.unset(DType::F32, &[rows.count, 2])?;
        for part in row_parts(rows, dtype.bytes(), self.facts().most_binding_bytes)? {
            let elements = part.start * rows.width..part.end * rows.width;
            let (output, at) = Bound::elements(&result, 2 * part.start..2 * part.end);
            let (mut bound, starts) = pieces(operands, &elements);
            bound.push(output);
            let dtype = code(shader.name, dtype)?;
            let params = structs::Rows { dtype, starts, at, ..params(rows, &part) };
            self.dispatch(shader, &params, bound, groups(part.len() * team(rows.width)))?;
        }
        Ok(result)
    }

    /// Fills `result` from operands like it and the rows' numbers.
    fn each_of_rows(
        &self,
        shader: &'static str,
        operands: &[&Tensor],
        result: &Tensor,
        numbers: &Tensor,
    ) -> Result {
        let rows = Rows::of(result);
        let dtype = code(shader, result.dtype())?;
        for part in self.parts_of(result) {
            let (mut bound, starts) = pieces(operands, &part);
            bound.push(Bound::elements(result, part.clone()).0);
            bound.push(self.whole(numbers)?.0);
            let (len, first) = (count(part.len()), count(part.start));
            let params =
                structs::Rows { len, dtype, starts, first, ..params(rows, &(0..rows.count)) };
            self.dispatch(shader, &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
