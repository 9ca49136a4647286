//! Elementwise sum.

use super::pointwise::{PARAMS, ZIP};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::Add;

pub(super) const SHADERS: &[&Shader] = &[&ADD];

const ADD: Shader = Shader { name: "add", file: "add", params: PARAMS, bindings: ZIP };

impl Add for Wgpu {
    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::ADD, &ADD, a, b)
    }

    fn add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        self.has_made_all(&[grad])?;
        Ok([grad.clone(), grad.clone()])
    }
}
