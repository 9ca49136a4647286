//! Gradients as values: multiplied, in `f32`.

use super::{flag, supported};
use crate::{
    Cuda, Error, Gradients, Tensor,
    kernels::MATERIALISE,
    launch::{
        Arg,
        structs::{MaterialiseRow, NO_GROUP},
    },
    set::Rows,
};
use binade_core::Named;
use binade_gpu::Factors;

impl Cuda {
    /// One launch for the whole set.
    pub(crate) fn run_materialise(
        &self,
        grads: &Gradients,
        results: &[Named<Option<Tensor>>],
        factors: Option<&Factors<'_, Self>>,
        limit: f32,
    ) -> Result<(), Error> {
        let mut set = Rows::of(grads.elements());
        for grad in grads.present() {
            let Some(result) = results.get(grad.place).and_then(|entry| entry.value.as_ref())
            else {
                continue;
            };
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let (result, present) = (result.address(), flag(grads, grad.place));
            let group = factors.and_then(|factors| factors.group(grad.place)).unwrap_or(NO_GROUP);
            set.add(grad.tensor.len(), |first_chunk| MaterialiseRow {
                values,
                result,
                present,
                len,
                first_chunk,
                dtype,
                group,
            });
        }
        let (owed, chunk_len) =
            (Arg::Address(grads.owed(self)?.address()), Arg::U64(set.chunks.len));
        let factors = Arg::Address(factors.map_or(0, |factors| factors.of_groups.address()));
        set.launch(self, &MATERIALISE, &[chunk_len, owed, factors, Arg::F32(limit)])
    }
}
