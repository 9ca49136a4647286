//! Training and test images as this example's tensors: the digits that the other examples share.

use crate::{Result, tensor::Mine};
use binade_example_shared::data::{self, Images};

pub use binade_example_shared::data::CLASSES;

/// Pixels of an image.
pub const PIXELS: usize = 64;

/// Images and their labels.
#[derive(Clone, Debug)]
pub struct Digits(Images);

/// Loads training and test images, split the same way each time.
///
/// # Errors
///
/// If the file is damaged.
pub fn load() -> Result<[Digits; 2]> {
    let data::Digits { train, test, .. } = data::Digits::embedded(0)?;
    Ok([Digits(train), Digits(test)])
}

impl Digits {
    /// Returns all images as one batch.
    pub fn whole(&self) -> (Mine, Vec<usize>) {
        self.pick(&(0..self.0.len()).collect::<Vec<_>>())
    }

    /// Returns batches of `size` in the order of this epoch. The order depends on nothing else, so that a resumed run needs no
    /// generator's state.
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
