//! Handle.

use crate::{BurnTensor, Error};
use binade_core::{FoundInf, GradSet, Handle, HostDevice, Named, NamedGrads, TrainError};

/// Handle for burn's tensors, on whatever device each of them is: it holds nothing.
///
/// Scaling and casting are burn's operations. Gradients are checked, clipped and added up on the host by [`HostDevice`], so that
/// every backend of burn's gives the same findings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burn;

/// Arithmetic on the host, which [`Burn`] passes its calls on to.
pub(crate) const HOST: HostDevice<BurnTensor> = HostDevice::new();

impl Handle for Burn {
    type Tensor = BurnTensor;
    type Error = Error;
}

impl GradSet for Burn {
    type Params = Vec<Named<BurnTensor>>;
    type Grads = NamedGrads<BurnTensor>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> Error {
        HOST.train_error(error)
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, Error> {
        HOST.is_raised(found)
    }

    fn materialise(&self, grads: NamedGrads<BurnTensor>) -> Result<NamedGrads<BurnTensor>, Error> {
        HOST.materialise(grads)
    }
}
