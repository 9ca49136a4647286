//! Telling and changing element types.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader, wgsl,
    },
};
use binade_autocast::Autocast;
use binade_core::{DType, cast::OnOverflow};

pub(crate) const CAST: Shader = Shader {
    name: "cast_elements",
    file: "cast",
    wgsl: wgsl!("cast"),
    params: size_of::<structs::Cast>(),
    bindings: &[(1, Read), (2, Write)],
    overrides: &[],
};

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

    fn elements(&self, tensor: &Tensor) -> Option<u64> {
        Some(tensor.len() as u64)
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
    /// [`Error::Unsupported`] for types other than bf16, f16 and f32.
    pub fn cast_overflowing(
        &self,
        tensor: &Tensor,
        to: DType,
        on_overflow: OnOverflow,
    ) -> Result<Tensor, Error> {
        self.has_made(tensor.buffer())?;
        let (dtype, to_code) = (code("cast", tensor.dtype())?, code("cast to", to)?);
        let result = self.unset(to, tensor.shape())?;
        let each = to.bytes().max(tensor.dtype().bytes());
        for part in parts(tensor.len(), each, self.facts().most_binding_bytes) {
            let (input, start) = Bound::elements(tensor, part.clone());
            let (output, _) = Bound::elements(&result, part.clone());
            let saturates = u32::from(on_overflow == OnOverflow::Saturate);
            let len = count(part.len());
            let params = structs::Cast { len, dtype, to: to_code, start, saturates };
            self.dispatch(&CAST, &params, vec![input, output], groups(part.len().div_ceil(GROUP)))?;
        }
        Ok(result)
    }
}
