//! What gradients need after they have left the scaler.

use crate::{GradScaler, ScaleStore};
use binade_core::Handle;

pub(crate) type Reduce<D> =
    dyn Fn(&mut <D as ScaleStore>::Found) -> Result<(), <D as Handle>::Error> + Send + Sync;

pub(crate) struct Shared<D: GradScaler> {
    pub(crate) device: D,
    /// A scale of 1, for gradients that no loss scaled.
    pub(crate) one: D::Scale,
    pub(crate) reduce: Option<Box<Reduce<D>>>,
}
