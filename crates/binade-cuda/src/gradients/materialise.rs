//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{
    Cuda, Error, Tensor,
    kernels::MATERIALISE,
    launch::{Arg, structs::MaterialiseRow},
    set::Rows,
};
use binade_core::{DType, Named};

impl Gradients {
    /// The same set with nothing left to multiply: new `f32` tensors, elements beyond `limit` brought within.
    pub(crate) fn settled(&self, cuda: &Cuda, limit: f32) -> Result<Self, Error> {
        self.are_of(cuda)?;
        let entries = self.unset_like(cuda)?;
        let mut set = Rows::of(self.elements());
        let results = entries.iter().filter_map(|entry| entry.value.as_ref());
        for (grad, result) in self.present().zip(results) {
            let dtype = supported("materialise gradients of", grad.tensor)?;
            let (values, len) = (grad.tensor.address(), grad.tensor.len() as u64);
            let (result, present) = (result.address(), grad.flag);
            set.add(grad.tensor.len(), |first_chunk| MaterialiseRow {
                values,
                result,
                present,
                len,
                first_chunk,
                dtype,
                pad: 0,
            });
        }
        let owed = Arg::Address(self.owed(cuda)?);
        set.launch(cuda, &MATERIALISE, &[Arg::U64(set.chunks.len), owed, Arg::F32(limit)])?;
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }

    fn unset_like(&self, cuda: &Cuda) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let one = |entry: &Named<Option<Tensor>>| {
            let like = |tensor: &Tensor| cuda.unset(DType::F32, tensor.shape());
            let value = entry.value.as_ref().map(like).transpose()?;
            Ok(Named { name: entry.name.clone(), value })
        };
        self.entries.iter().map(one).collect()
    }
}
