//! Losses of a rank with several shards.

use binade_grad_scaler::{Loss, ScaleStore};

/// Losses of the shards of a rank, scaled by one scale. `backward` differentiates each, and gives a set of gradients for each.
#[derive(Clone, Debug)]
pub struct Shards<L>(pub Vec<L>);

impl<D: ScaleStore, L: Loss<D>> Loss<D> for Shards<L> {
    type Error = L::Error;

    fn scaled(&self, device: &D, scale: &D::Scale) -> Result<Self, L::Error> {
        self.0.iter().map(|loss| loss.scaled(device, scale)).collect::<Result<_, _>>().map(Self)
    }

    fn unscaled(&self, device: &D, scale: &D::Scale) -> Result<Self, L::Error> {
        self.0.iter().map(|loss| loss.unscaled(device, scale)).collect::<Result<_, _>>().map(Self)
    }
}
