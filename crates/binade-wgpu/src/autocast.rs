//! Casts.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, count, halves, stored_code},
    },
};
use binade_core::{cast::OnOverflow, stochastic::Key};
use binade_gpu::Rounding;
use bytemuck::Pod;

impl Wgpu {
    /// Casts the elements of a tensor into another of its shape.
    pub(crate) fn cast_into(
        &self,
        tensor: &Tensor,
        result: &Tensor,
        rounding: Rounding,
    ) -> Result<(), Error> {
        match rounding {
            Rounding::Nearest(on_overflow) => {
                let saturates = u32::from(on_overflow == OnOverflow::Saturate);
                self.convert("cast_elements", tensor, result, |part| {
                    let Part { len, dtype, to, start, .. } = part;
                    structs::Cast { len, dtype, to, start, saturates }
                })
            }
            Rounding::Stochastic(Key { seed, parameter, step }) => {
                self.convert("cast_stochastic", tensor, result, |part| {
                    let Part { len, dtype, to, start, before } = part;
                    let (seed, block) = (halves(seed), halves(before / GROUP as u64));
                    structs::CastStochastic { len, dtype, to, start, seed, step, parameter, block }
                })
            }
        }
    }

    fn convert<P: Pod>(
        &self,
        shader: &'static str,
        tensor: &Tensor,
        result: &Tensor,
        params: impl Fn(Part) -> P,
    ) -> Result<(), Error> {
        let dtype = stored_code("cast", tensor.dtype())?;
        let to = stored_code("cast to", result.dtype())?;
        let each = result.dtype().bytes().max(tensor.dtype().bytes());
        for part in parts(tensor.len(), each, self.facts().most_binding_bytes) {
            let (input, start) = Bound::elements(tensor, part.clone());
            let (output, _) = Bound::elements(result, part.clone());
            let (len, before) = (count(part.len()), part.start as u64);
            let params = params(Part { len, dtype, to, start, before });
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(shader, &params, vec![input, output], groups)?;
        }
        Ok(())
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
