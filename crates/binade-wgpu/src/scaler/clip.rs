//! Clipping a set by its norm.

use crate::{
    Error, Wgpu,
    dispatch::{Bound, structs},
    memory::Buffer,
    shaders::{Access::Write, Shader},
};
use binade_grad_scaler::Norm;

pub(super) const CLIP: Shader = Shader {
    name: "clip",
    file: "clip",
    params: size_of::<structs::Clip>(),
    bindings: &[(1, Write), (2, Write)],
};

impl Wgpu {
    /// One invocation, which only the device's numbers tell what to do.
    pub(crate) fn run_clip(
        &self,
        verdict: &Buffer,
        owed: &Buffer,
        norm: Norm,
        max: f32,
    ) -> Result<(), Error> {
        let params = structs::Clip { norm: u32::from(norm == Norm::Infinity), most: max };
        self.dispatch(&CLIP, &params, [verdict, owed].map(Bound::whole).into(), 1)
    }
}
