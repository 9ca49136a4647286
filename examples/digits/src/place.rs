//! How far a run has come.

use fastrand::Rng;

/// How far a run has come: what a checkpoint holds beside the weights.
#[derive(Debug)]
pub(crate) struct Place {
    /// Epochs that are over.
    pub(crate) epochs: u32,
    /// Windows that are over of the epoch that is under way.
    pub(crate) windows: usize,
    /// The sum of its losses so far.
    pub(crate) loss: f32,
    /// What puts its images in order: as it was before it did.
    pub(crate) order: Rng,
}

impl Place {
    /// Before the first epoch.
    pub(crate) fn start(seed: u64) -> Self {
        Self { epochs: 0, windows: 0, loss: 0.0, order: Rng::with_seed(seed) }
    }

    /// Before the next epoch.
    pub(crate) fn next(&self, order: Rng) -> Self {
        Self { epochs: self.epochs + 1, windows: 0, loss: 0.0, order }
    }

    /// In words that [`read`](Self::read) understands: the loss by its bits.
    pub(crate) fn written(&self) -> String {
        let Self { epochs, windows, loss, order } = self;
        format!("{epochs} {windows} {:08x} {:016x}", loss.to_bits(), order.get_seed())
    }

    /// What [`written`](Self::written) wrote, unless it was something else.
    pub(crate) fn read(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split(' ').collect();
        let [epochs, windows, loss, order] = words.try_into().ok()?;
        Some(Self {
            epochs: epochs.parse().ok()?,
            windows: windows.parse().ok()?,
            loss: f32::from_bits(u32::from_str_radix(loss, 16).ok()?),
            order: Rng::with_seed(u64::from_str_radix(order, 16).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let mut order = Rng::with_seed(9);
        order.u64(..);
        let place = Place { epochs: 3, windows: 7, loss: f32::NAN, order };
        let mut back = Place::read(&place.written()).unwrap();
        assert_eq!(back.written(), place.written());
        assert_eq!(back.order.u64(..), place.order.clone().u64(..));
        assert!(Place::read("3 7 x 0").is_none() && Place::read("3 7 0").is_none());
    }
}
