//! Casts.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, count, halves, stored_code},
    },
};
use binade_core::{DType, cast::OnOverflow, stochastic::Key};
use binade_gpu::{Driver, Rounding};
use bytemuck::Pod;

impl Wgpu {
    /// A copy with another element type.
    pub(crate) fn cast_by(
        &self,
        tensor: &Tensor,
        to: DType,
        rounding: Rounding,
    ) -> Result<Tensor, Error> {
        match rounding {
            Rounding::Nearest(on_overflow) => {
                let saturates = u32::from(on_overflow == OnOverflow::Saturate);
                self.convert("cast_elements", tensor, to, |part| {
                    let Part { len, dtype, to, start, .. } = part;
                    structs::Cast { len, dtype, to, start, saturates }
                })
            }
            Rounding::Stochastic(Key { seed, parameter, step }) => {
                self.convert("cast_stochastic", tensor, to, |part| {
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
        to: DType,
        params: impl Fn(Part) -> P,
    ) -> Result<Tensor, Error> {
        self.check_owner(tensor.buffer())?;
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
