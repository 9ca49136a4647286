//! Elements of sets of parameters and gradients.

use super::Elements;
use crate::Error;
use binade_core::{AmpTensor, Named, NamedGrads, SparseGrads};
use candle_core::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Copies a set of parameters, in its order.
pub(crate) fn read_params(params: &[Named<Tensor>]) -> Result<Vec<Named<Elements>>, Error> {
    let read = |param: &Named<Tensor>| {
        Ok(Named::new(param.name.clone(), Elements::read(&param.name, &param.value)?))
    };
    params.iter().map(read).collect()
}

/// Copies the elements that a step changes, in the order of the parameters: the rows of a sparse gradient, and no row of a parameter without a
/// gradient.
pub(crate) fn read_moving(
    params: &[Named<Tensor>],
    grads: &NamedGrads<Elements>,
) -> Result<Vec<Named<Elements>>, Error> {
    let present = grads.iter().filter_map(|grad| Some((&grad.name, grad.value.as_ref()?)));
    let present: HashMap<_, _> = present.collect();
    let read = |Named { name, value }: &Named<Tensor>| {
        let elements = match present.get(name).map(|grad| grad.rows()) {
            Some(None) => Elements::read(name, value),
            Some(Some(rows)) => Elements::read_rows(name, value, &rows.into()),
            None => Elements::read_rows(name, value, &Arc::default()),
        };
        Ok(Named::new(name.clone(), elements?))
    };
    params.iter().map(read).collect()
}

/// Copies a set of gradients, in its order.
pub(crate) fn read_grads(grads: &SparseGrads<Tensor>) -> Result<NamedGrads<Elements>, Error> {
    let read = |Named { name, value }: &Named<Option<_>>| {
        let elements = value.as_ref().map(|value| Elements::read_gradient(name, value));
        Ok(Named::new(name.clone(), elements.transpose()?))
    };
    grads.0.iter().map(read).collect()
}

/// Makes gradients of a set of elements, in its order.
pub(crate) fn write_grads(grads: NamedGrads<Elements>) -> Result<SparseGrads<Tensor>, Error> {
    let write = |grad: Named<Option<Elements>>| {
        let gradient = grad.value.as_ref().map(Elements::to_gradient);
        Ok(Named::new(grad.name, gradient.transpose()?))
    };
    Ok(SparseGrads(grads.into_iter().map(write).collect::<Result<_, Error>>()?))
}
