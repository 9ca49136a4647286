//! Sets without elements, on which the CPU makes now the checks that it would make of the real ones.

use crate::{Error, tensor::Like};
use binade_core::Named;

/// Makes a tensor of this type without elements, under a shape that differs wherever the real ones do.
pub(crate) fn tensor(like: &Like) -> Result<binade_cpu::Tensor, Error> {
    let shape = [&[0], like.shape.as_slice()].concat();
    Ok(binade_cpu::Tensor::from_bits(&[], like.dtype, &shape)?)
}

/// Makes a set of gradients without elements.
pub(crate) fn gradients(likes: &[Named<Option<Like>>]) -> Result<binade_cpu::Gradients, Error> {
    let one = |entry: &Named<Option<Like>>| {
        let value = entry.value.as_ref().map(tensor).transpose()?;
        Ok(Named { name: entry.name.clone(), value })
    };
    Ok(likes.iter().map(one).collect::<Result<Vec<_>, Error>>()?.into())
}

/// Makes parameters without elements.
pub(crate) fn parameters(
    params: &[Named<crate::Tensor>],
) -> Result<Vec<Named<binade_cpu::Tensor>>, Error> {
    let one = |param: &Named<crate::Tensor>| {
        Ok(Named { name: param.name.clone(), value: tensor(&param.value.like())? })
    };
    params.iter().map(one).collect()
}
