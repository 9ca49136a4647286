//! Tensors of one value.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, code, count},
    },
    shaders::{Access::Write, Shader},
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::{Fill, shape};

pub(super) const SHADERS: &[&Shader] = &[&FILL];

const FILL: Shader = Shader {
    name: "fill",
    file: "fill",
    params: size_of::<structs::Fill>(),
    bindings: &[(1, Write)],
};

impl Fill for Wgpu {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let code = code("fill", dtype)?;
        let shape = &*shape::fill(shape)?;
        let result = self.unset(dtype, shape)?;
        let halves = 4 / dtype.bytes();
        for part in parts(result.len(), dtype.bytes(), self.facts().most_binding_bytes) {
            let words = part.len().div_ceil(halves);
            let (output, _) = Bound::elements(&result, part);
            let params = structs::Fill { len: count(words), dtype: code, value: value.to_bits() };
            self.dispatch(&FILL, &params, vec![output], groups(words))?;
        }
        Ok(result)
    }
}
