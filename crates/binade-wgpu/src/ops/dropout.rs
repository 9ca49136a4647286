//! Dropout: zeroes elements at random and scales the rest.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{Op, stochastic::threshold};
use binade_gpu::Driver;
use binade_ops::{Dropout, Fill, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&DROPOUT];

const DROPOUT: Shader = Shader {
    name: "dropout",
    file: "dropout",
    params: size_of::<structs::Dropout>(),
    bindings: &[(1, Read), (3, Write), (4, Read)],
};

impl Dropout for Wgpu {
    /// Reads the key on the device, when the shader runs.
    fn dropout(&self, input: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        let shape = shape::dropout(input.shape(), key.shape(), p)?;
        let dtype = operands::float(Op::DROPOUT, &[input])?;
        operands::integers(Op::DROPOUT, key)?;
        self.has_made_all(&[input, key])?;
        let Ok(threshold) = u32::try_from(threshold(p)) else {
            return self.fill(0.0, &shape, dtype);
        };
        let result = self.unset(dtype, &shape)?;
        for part in parts(input.len(), dtype.bytes(), self.facts().most_binding_bytes) {
            let [(a, start), (output, _)] =
                [input, &result].map(|tensor| Bound::elements(tensor, part.clone()));
            let (words, key_start) = self.whole_words(key)?;
            let params = structs::Dropout {
                len: count(part.len()),
                dtype: code("dropout", dtype)?,
                starts: [start, 0],
                first: count(part.start / GROUP),
                key_start,
                threshold,
                factor: 1.0 / (1.0 - p),
            };
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(&DROPOUT, &params, vec![a, output, words], groups)?;
        }
        Ok(result)
    }

    fn dropout_backward(&self, grad: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        self.dropout(grad, key, p)
    }
}
