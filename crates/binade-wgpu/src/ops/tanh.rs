//! Hyperbolic tangent.

use super::pointwise::{MAP, PARAMS, ZIP};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::Tanh;

pub(super) const SHADERS: &[&Shader] = &[&TANH, &TANH_BACKWARD];

const TANH: Shader = Shader { name: "tanh_elements", file: "tanh", params: PARAMS, bindings: MAP };
const TANH_BACKWARD: Shader = Shader { name: "tanh_backward", bindings: ZIP, ..TANH };

impl Tanh for Wgpu {
    fn tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::TANH, &TANH, input)
    }

    fn tanh_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::TANH, &TANH_BACKWARD, grad, output)
    }
}
