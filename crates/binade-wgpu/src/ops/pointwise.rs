//! Element-by-element shaders: operands of one shape and type, and a result like them.

use super::operands::pieces;
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{self, Read, Write},
        Shader,
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{operands, shape};

/// Bytes of the parameters.
pub(super) const PARAMS: usize = size_of::<structs::Pointwise>();

/// Bindings of `a` and the output.
pub(super) const MAP: &[(u32, Access)] = &[(1, Read), (3, Write)];

/// Bindings of `a`, `b` and the output.
pub(super) const ZIP: &[(u32, Access)] = &[(1, Read), (2, Read), (3, Write)];

impl Wgpu {
    /// Applies `shader` to each element.
    pub(super) fn map(&self, op: Op, shader: &'static Shader, x: &Tensor) -> Result<Tensor, Error> {
        self.has_made_all(&[x])?;
        let dtype = operands::float(op, &[x])?;
        let result = self.unset(dtype, x.shape())?;
        self.each(shader, &[x], &result)?;
        Ok(result)
    }

    /// Applies `shader` to each pair of elements.
    pub(super) fn zip(
        &self,
        op: Op,
        shader: &'static Shader,
        a: &Tensor,
        b: &Tensor,
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[a, b])?;
        let shape = shape::same(op, a.shape(), b.shape())?;
        let dtype = operands::float(op, &[a, b])?;
        let result = self.unset(dtype, &shape)?;
        self.each(shader, &[a, b], &result)?;
        Ok(result)
    }

    /// Dispatches a shader for one operand or two and a result of one length, in parts that a binding holds.
    fn each(
        &self,
        shader: &'static Shader,
        operands: &[&Tensor],
        result: &Tensor,
    ) -> Result<(), Error> {
        let dtype = code(shader.name, result.dtype())?;
        let most = self.facts().most_binding_bytes;
        for part in parts(result.len(), result.dtype().bytes(), most) {
            let (mut bound, starts) = pieces(operands, &part);
            let params = structs::Pointwise { len: count(part.len()), dtype, starts };
            bound.push(Bound::elements(result, part.clone()).0);
            self.dispatch(shader, &params, bound, groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(())
    }
}
