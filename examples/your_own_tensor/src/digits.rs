//! The images to learn from, as this example's tensors: the digits that the other examples share.

use crate::{Result, tensor::Mine};
use binade_example_shared::data::{self, Images};

pub use binade_example_shared::data::CLASSES;

/// Pixels of an image.
pub const PIXELS: usize = 64;

/// Images and what they show.
#[derive(Clone, Debug)]
pub struct Digits(Images);

/// Training and test images, split the same way each time.
///
/// # Errors
///
/// When the file is damaged.
pub fn load() -> Result<[Digits; 2]> {
    let data::Digits { train, test, .. } = data::Digits::embedded(0)?;
    Ok([Digits(train), Digits(test)])
}

impl Digits {
    /// All of them, as one batch.
    pub fn whole(&self) -> (Mine, Vec<usize>) {
        self.pick(&(0..self.0.len()).collect::<Vec<_>>())
    }

    /// Batches of `size` in the order of this epoch, which hangs on nothing else: a resumed run needs no generator's state.
    pub fn batches(&self, epoch: u64, size: usize) -> Vec<(Mine, Vec<usize>)> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        fastrand::Rng::with_seed(epoch).shuffle(&mut order);
        order.chunks(size).map(|places| self.pick(places)).collect()
    }

    fn pick(&self, places: &[usize]) -> (Mine, Vec<usize>) {
        let Images { pixels, labels, .. } = self.0.pick(places);
        // Labels are 0 to 9, or there would be no images.
        let labels = labels.into_iter().filter_map(|label| usize::try_from(label).ok()).collect();
        (Mine::new(pixels, &[places.len(), PIXELS]), labels)
    }
}
