//! Gradients as values: multiplied, in `f32`.

use super::{flag, flags, owed, supported};
use crate::{
    Error, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, NO_GROUP, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Named;
use binade_gpu::Factors;

pub(crate) const MATERIALISE: Shader = Shader {
    name: "materialise",
    file: "materialise",
    params: size_of::<structs::Materialise>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write)],
};

impl Wgpu {
    /// A dispatch for each part of each gradient.
    pub(crate) fn run_materialise(
        &self,
        grads: &Gradients,
        results: &[Named<Option<Tensor>>],
        factors: Option<&Factors<'_, Self>>,
        limit: f32,
    ) -> Result<(), Error> {
        for grad in grads.present() {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let result = results.get(grad.place).and_then(|entry| entry.value.as_ref());
            let Some(result) = result else { continue };
            let group = factors.and_then(|factors| factors.group(grad.place)).unwrap_or(NO_GROUP);
            for part in parts(result.len(), 4, self.facts().most_binding_bytes) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, _) = Bound::elements(result, part.clone());
                let (len, flag) = (count(part.len()), flag(grads, grad.place));
                let params = structs::Materialise { len, dtype, start, flag, group, limit };
                let of_groups = factors.map_or(&*self.fixed()?.there, |it| it.of_groups);
                let (flags, owed) = (flags(grads, self)?, owed(grads, self)?);
                let bound = vec![values, flags, owed, Bound::whole(of_groups), output];
                self.dispatch(&MATERIALISE, &params, bound, groups(part.len()))?;
            }
        }
        Ok(())
    }
}
