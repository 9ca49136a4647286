//! A window's sums.

use crate::{
    Error, Gradients, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, count},
    },
    gradients::{flag, flags, owed, supported},
    memory::Buffer,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use bytemuck::Zeroable;

pub(super) const ACCUMULATE: Shader = Shader {
    name: "accumulate",
    file: "accumulate",
    params: size_of::<structs::Accumulate>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write), (6, Write)],
};

pub(super) const ACCUMULATE_MARK: Shader =
    Shader { name: "accumulate_mark", bindings: &[(2, Read), (3, Read), (6, Write)], ..ACCUMULATE };

impl Wgpu {
    /// A dispatch for each part of each gradient, and one that marks its sum.
    pub(crate) fn run_accumulate(
        &self,
        sum: &Gradients,
        grads: &Gradients,
        found: &Buffer,
    ) -> Result<(), Error> {
        for grad in grads.present() {
            let dtype = supported("add gradients of", grad.tensor)?;
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let Some(total) = total else { continue };
            let (begun, there) = (flag(sum, grad.place), flag(grads, grad.place));
            let state = || -> Result<_, Error> {
                Ok([flags(grads, self)?, Bound::whole(found), owed(grads, self)?])
            };
            for part in parts(total.len(), 4, self.facts().most_binding_bytes) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, sum_start) = Bound::elements(total, part.clone());
                let len = count(part.len());
                let params = structs::Accumulate { len, dtype, start, sum_start, begun, there };
                let [also, found, owed] = state()?;
                let bound = vec![values, also, found, owed, output, flags(sum, self)?];
                self.dispatch(&ACCUMULATE, &params, bound, groups(part.len()))?;
            }
            let params = structs::Accumulate { begun, there, ..structs::Accumulate::zeroed() };
            let [also, found, _] = state()?;
            self.dispatch(&ACCUMULATE_MARK, &params, vec![also, found, flags(sum, self)?], 1)?;
        }
        Ok(())
    }
}
