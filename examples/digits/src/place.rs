//! Position of a run between two windows.

use fastrand::Rng;

/// Position of a run: the part of a checkpoint beside the weights.
#[derive(Debug)]
pub(crate) struct Place {
    /// Number of finished epochs.
    pub(crate) epochs: u32,
    /// Number of finished windows of the current epoch.
    pub(crate) windows: usize,
    /// Sum of the current epoch's losses so far.
    pub(crate) loss: f32,
    /// Generator that shuffles the images, in its state before the current epoch.
    pub(crate) order: Rng,
}

impl Place {
    /// Returns the position before the first epoch.
    pub(crate) fn start(seed: u64) -> Self {
        Self { epochs: 0, windows: 0, loss: 0.0, order: Rng::with_seed(seed) }
    }

    /// Returns the position before the next epoch.
    pub(crate) fn next(&self, order: Rng) -> Self {
        Self { epochs: self.epochs + 1, windows: 0, loss: 0.0, order }
    }

    /// Writes the position in words that [`read`](Self::read) understands: the loss by its bits.
    pub(crate) fn written(&self) -> String {
        let Self { epochs, windows, loss, order } = self;
        format!("{epochs} {windows} {:08x} {:016x}", loss.to_bits(), order.get_seed())
    }

    /// Reads the output of [`written`](Self::written); `None` for anything else.
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
