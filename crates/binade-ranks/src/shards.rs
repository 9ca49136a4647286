//! Losses of a rank with several shards, and losses of a framework without ranks.

use crate::{Group, RankDevice, Ranks, RanksError};
use binade_grad_scaler::{Loss, ScaleState, ScaleStore};

/// Losses of a rank's shards, scaled by one scale. `backward` returns a set of gradients for each.
///
/// Use it for losses of [`Ranks`], such as those on its tape. Losses of the wrapped device go into a `Vec`.
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

/// Losses of a rank's shards on the wrapped device: tensors of a framework, or custom ones. A rank with one shard has a list of one.
///
/// The loss is a list because no other crate can implement [`Loss`] of [`Ranks`] for a framework's tensor. `backward` differentiates each loss as
/// without ranks, and returns a list of sets.
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
