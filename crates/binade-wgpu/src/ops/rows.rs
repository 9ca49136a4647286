//! Shaders on the rows of the last axis: first two numbers for each row, then the elements one by one.

use super::operands::pieces;
use crate::{
    Error, Tensor, Wgpu, WgpuError,
    dispatch::{
        Bound, GROUP, THREADS, groups, parts,
        structs::{self, code, count},
    },
    facts::ALIGNED,
    shaders::{
        Access::{self, Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{operands, shape};
use std::ops::Range;

/// Bytes of the parameters.
pub(super) const PARAMS: usize = size_of::<structs::Rows>();

/// Bindings of shaders that compute the rows' numbers, of one operand and, below it, of two.
pub(super) const NUMBERS: &[(u32, Access)] = &[(1, Read), (3, Write)];
pub(super) const NUMBERS2: &[(u32, Access)] = &[(1, Read), (2, Read), (3, Write)];

/// Bindings of shaders that go through the elements; the numbers come last.
pub(super) const EACH: &[(u32, Access)] = &[(1, Read), (3, Write), (4, Read)];
pub(super) const EACH2: &[(u32, Access)] = &[(1, Read), (2, Read), (3, Write), (4, Read)];

/// Elements of a row that one invocation takes before another helps.
const SHARE: usize = 8;

/// Returns the number of invocations that share `elements`: a power of two.
pub(super) fn team(elements: usize) -> usize {
    elements.div_ceil(SHARE).next_power_of_two().min(THREADS)
}

/// Tensor as the rows of its last axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) width: usize,
}

impl Rows {
    /// Describes a tensor; a scalar is one row of one element.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let (width, lead) =
            tensor.shape().split_last().map_or((1, &[][..]), |(w, lead)| (*w, lead));
        Self { count: lead.iter().product(), width }
    }

    /// Returns the number of invocations that share a row. It follows from the width alone, and so do the sums' bits.
    pub(super) fn team(self) -> usize {
        team(self.width)
    }

    /// Returns the parameters for a part of the rows.
    pub(super) fn params(self, rows: &Range<usize>) -> structs::Rows {
        let (first, rows) = (count(rows.start), count(rows.len()));
        let (width, team) = (count(self.width), count(self.team()));
        structs::Rows { first, count: rows, width, team, ..structs::Rows::default() }
    }

    /// Divides the rows into parts that need no larger binding than `most_bytes`. One row that needs more is an error.
    pub(super) fn parts(
        self,
        each: usize,
        most_bytes: u64,
    ) -> Result<impl Iterator<Item = Range<usize>>, Error> {
        let bytes = self.width * each;
        let most = usize::try_from(most_bytes.saturating_sub(ALIGNED)).unwrap_or(usize::MAX);
        // The numbers of a row are two of 32 bits.
        let step = most / bytes.max(8);
        if step == 0 {
            return Err(Error::Driver(WgpuError::TooLarge { bytes, most: most as u64 }));
        }
        let all = self.count;
        Ok((0..all).step_by(step).map(move |first| first..all.min(first + step)))
    }
}

impl Wgpu {
    /// Applies `numbers` and then `each` to operands of one shape. The result has that shape and their element type.
    pub(super) fn by_row(
        &self,
        op: Op,
        [numbers, each]: [&'static Shader; 2],
        operands: &[&Tensor],
    ) -> Result<Tensor, Error> {
        let shape = operands.first().map_or(&[][..], |operand| operand.shape());
        for operand in operands {
            shape::softmax(op, &shape::same(op, shape, operand.shape())?)?;
        }
        let dtype = operands::float(op, operands)?;
        self.has_made_all(operands)?;
        let result = self.unset(dtype, shape)?;
        if result.is_empty() {
            return Ok(result);
        }
        // It binds operands, and the numbers as its last.
        let of_numbers = operands.get(..numbers.bindings.len() - 1).unwrap_or(operands);
        let numbers = self.numbers_of_rows(numbers, of_numbers)?;
        self.each_of_rows(each, operands, &result, &numbers)?;
        Ok(result)
    }

    /// Computes two numbers for each row, `[rows, 2]`.
    pub(super) fn numbers_of_rows(
        &self,
        shader: &'static Shader,
        operands: &[&Tensor],
    ) -> Result<Tensor, Error> {
        let Some(first) = operands.first() else { return Err(Error::Foreign) };
        let (rows, dtype) = (Rows::of(first), first.dtype());
        let result = self.unset(DType::F32, &[rows.count, 2])?;
        for part in rows.parts(dtype.bytes(), self.facts().most_binding_bytes)? {
            let elements = part.start * rows.width..part.end * rows.width;
            let (output, at) = Bound::elements(&result, 2 * part.start..2 * part.end);
            let (mut bound, starts) = pieces(operands, &elements);
            bound.push(output);
            let dtype = code(shader.name, dtype)?;
            let params = structs::Rows { dtype, starts, at, ..rows.params(&part) };
            self.dispatch(shader, &params, bound, groups(part.len() * rows.team()))?;
        }
        Ok(result)
    }

    /// Fills `result` from operands like it and the rows' numbers.
    fn each_of_rows(
        &self,
        shader: &'static Shader,
        operands: &[&Tensor],
        result: &Tensor,
        numbers: &Tensor,
    ) -> Result<(), Error> {
        let rows = Rows::of(result);
        for part in parts(result.len(), result.dtype().bytes(), self.facts().most_binding_bytes) {
            let (mut bound, starts) = pieces(operands, &part);
            bound.push(Bound::elements(result, part.clone()).0);
            bound.push(self.whole(numbers)?.0);
            let dtype = code(shader.name, result.dtype())?;
            let (len, first) = (count(part.len()), count(part.start));
            let params =
                structs::Rows { len, dtype, starts, first, ..rows.params(&(0..rows.count)) };
            self.dispatch(shader, &params, bound, groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(())
    }
}
