//! Telling and changing element types.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, count, halves, stored_code},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_autocast::Autocast;
use binade_core::{DType, cast::OnOverflow, stochastic::Key};
use binade_gpu::Driver;
use bytemuck::Pod;
use std::borrow::Cow;

pub(crate) const CAST: Shader = Shader {
    name: "cast_elements",
    file: "cast",
    params: size_of::<structs::Cast>(),
    bindings: &[(1, Read), (2, Write)],
};

pub(crate) const CAST_STOCHASTIC: Shader =
    Shader { name: "cast_stochastic", params: size_of::<structs::CastStochastic>(), ..CAST };

impl Autocast for Wgpu {
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

impl Wgpu {
    /// The same elements in memory of their own, from its start on.
    pub(crate) fn copied(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        self.cast_overflowing(tensor, tensor.dtype(), OnOverflow::NonFinite)
    }

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
        let saturates = u32::from(on_overflow == OnOverflow::Saturate);
        self.convert(&CAST, tensor, to, |part| {
            let Part { len, dtype, to, start, .. } = part;
            structs::Cast { len, dtype, to, start, saturates }
        })
    }

    /// A copy with another element type, each element rounded up or down by the random words of `key`: the same bits as
    /// [`binade_core::stochastic`] gives.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types other than bf16, f16, f32, e4m3 and e5m2.
    pub fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Error> {
        let Key { seed, parameter, step } = key;
        self.convert(&CAST_STOCHASTIC, tensor, to, |part| {
            let Part { len, dtype, to, start, before } = part;
            let (seed, block) = (halves(seed), halves(before / GROUP as u64));
            structs::CastStochastic { len, dtype, to, start, seed, step, parameter, block }
        })
    }

    fn convert<P: Pod>(
        &self,
        shader: &'static Shader,
        tensor: &Tensor,
        to: DType,
        params: impl Fn(Part) -> P,
    ) -> Result<Tensor, Error> {
        self.has_made(tensor.buffer())?;
        let dtype = stored_code("cast", tensor.dtype())?;
        let to_code = stored_code("cast to", to)?;
        let result = self.unset(to, tensor.shape())?;
        let each = to.bytes().max(tensor.dtype().bytes());
        for part in parts(tensor.len(), each, self.facts().most_binding_bytes) {
            let (input, start) = Bound::elements(tensor, part.clone());
            let (output, _) = Bound::elements(&result, part.clone());
            let (len, before) = (count(part.len()), part.start as u64);
            let params = params(Part { len, dtype, to: to_code, start, before });
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(shader, &params, vec![input, output], groups)?;
        }
        Ok(result)
    }
}

/// Elements of a tensor that are cast at once: how many, their types, how many come before in the binding, and in the tensor.
struct Part {
    len: u32,
    dtype: u32,
    to: u32,
    start: u32,
    before: u64,
}
