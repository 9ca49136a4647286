//! Rectified linear unit.

use super::pointwise::{MAP, PARAMS, ZIP};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::Relu;

pub(super) const SHADERS: &[&Shader] = &[&RELU, &RELU_BACKWARD];

const RELU: Shader = Shader { name: "relu", file: "relu", params: PARAMS, bindings: MAP };
const RELU_BACKWARD: Shader = Shader { name: "relu_backward", bindings: ZIP, ..RELU };

impl Relu for Wgpu {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::RELU, &RELU, input)
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::RELU, &RELU_BACKWARD, grad, output)
    }
}
