//! The handle.

use crate::{BurnTensor, Error};
use binade_core::{Finding, GradSet, Handle, Named, NamedGrads, Native, TrainError};

/// The handle for burn's tensors, on whatever device each of them is: it holds nothing.
///
/// Scaling and casting are burn's operations. Gradients are checked, clipped and added up on the host, by way of
/// [`Native`], so that what is found is found alike on every backend of burn's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burn;

/// What [`Burn`] passes its calls on to.
pub(crate) const HOST: Native<BurnTensor> = Native::new();

impl Handle for Burn {
    type Tensor = BurnTensor;
    type Error = Error;
}

impl GradSet for Burn {
    type Params = Vec<Named<BurnTensor>>;
    type Grads = NamedGrads<BurnTensor>;
    type Found = Finding;

    fn train_error(&self, error: TrainError) -> Error {
        HOST.train_error(error)
    }

    fn is_raised(&self, found: &Finding) -> Result<bool, Error> {
        HOST.is_raised(found)
    }

    fn materialise(&self, grads: NamedGrads<BurnTensor>) -> Result<NamedGrads<BurnTensor>, Error> {
        HOST.materialise(grads)
    }
}
