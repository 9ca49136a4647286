//! Gaussian error linear unit.

use super::pointwise::{MAP, PARAMS, ZIP};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::Gelu;

pub(super) const SHADERS: &[&Shader] = &[&GELU, &GELU_BACKWARD];

const GELU: Shader = Shader { name: "gelu", file: "gelu", params: PARAMS, bindings: MAP };
const GELU_BACKWARD: Shader = Shader { name: "gelu_backward", bindings: ZIP, ..GELU };

impl Gelu for Wgpu {
    fn gelu(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::GELU, &GELU, input)
    }

    fn gelu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::GELU, &GELU_BACKWARD, grad, input)
    }
}
