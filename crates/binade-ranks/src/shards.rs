//! Losses of a rank with several shards, and of a framework that knows nothing of ranks.

use crate::{Group, RankDevice, Ranks, RanksError};
use binade_grad_scaler::{Loss, ScaleState, ScaleStore};

/// Losses of the shards of a rank, scaled by one scale. `backward` differentiates each, and gives a set of gradients for each.
///
/// It is for losses that know of the ranks, as those on a tape of [`Ranks`]. Losses of the device itself go into a `Vec`.
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

/// Losses of a rank's shards, which are the device's own: tensors of a framework, or of one's own. A list of one is a rank with one shard.
///
/// The list is [`Ranks`]' loss, since no other crate can say that a framework's tensor is one. `backward` differentiates each loss as
/// without ranks, and gives a list of sets.
impl<D, G, L> Loss<Ranks<D, G>> for Vec<L>
where
    D: RankDevice,
    G: Group,
    L: Loss<D, Error = D::Error>,
{
    type Error = RanksError<D::Error>;

    fn scaled(&self, ranks: &Ranks<D, G>, scale: &ScaleState) -> Result<Self, Self::Error> {
        ranks.alone(|device| {
            let scale = device.upload_state(*scale)?;
            self.iter().map(|loss| loss.scaled(device, &scale)).collect()
        })
    }

    fn unscaled(&self, ranks: &Ranks<D, G>, scale: &ScaleState) -> Result<Self, Self::Error> {
        ranks.alone(|device| {
            let scale = device.upload_state(*scale)?;
            self.iter().map(|loss| loss.unscaled(device, &scale)).collect()
        })
    }
}
