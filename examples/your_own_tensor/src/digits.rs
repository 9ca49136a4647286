//! The images to learn from: those of the digits example, 8 by 8 pixels, a fifth kept for the test.

use crate::{Result, tensor::Mine};
use flate2::read::GzDecoder;
use std::io::Read;

/// Pixels of an image.
pub const PIXELS: usize = 64;
/// Kinds of digit.
pub const CLASSES: usize = 10;
/// Images that are never trained on.
const TEST: usize = 360;

/// Images and what they show.
#[derive(Clone, Debug)]
pub struct Digits {
    images: Vec<[f32; PIXELS]>,
    labels: Vec<usize>,
}

/// Training and test images, split the same way each time.
///
/// # Errors
///
/// When the file is damaged.
pub fn load() -> Result<[Digits; 2]> {
    let mut text = String::new();
    let packed: &[u8] = include_bytes!("../../digits/data/digits.csv.gz");
    GzDecoder::new(packed).read_to_string(&mut text)?;
    let mut lines: Vec<_> = text.lines().collect();
    fastrand::Rng::with_seed(0).shuffle(&mut lines);
    let (kept, seen) = lines.split_at(TEST);
    Ok([parse(seen)?, parse(kept)?])
}

/// 64 pixels from 0 to 16 and a label a line.
fn parse(lines: &[&str]) -> Result<Digits> {
    let mut digits = Digits { images: Vec::new(), labels: Vec::new() };
    for line in lines {
        let numbers = line.split(',').map(str::parse).collect::<Result<Vec<u8>, _>>()?;
        let (pixels, label) = numbers.split_at(PIXELS);
        let pixels: Vec<f32> = pixels.iter().map(|pixel| f32::from(*pixel) / 16.0).collect();
        digits.images.push(pixels.try_into().map_err(|_| "a line is no image")?);
        digits.labels.push(label.first().copied().unwrap_or_default().into());
    }
    Ok(digits)
}

impl Digits {
    /// All of them, as one batch.
    pub fn whole(&self) -> (Mine, Vec<usize>) {
        self.pick(&(0..self.labels.len()).collect::<Vec<_>>())
    }

    /// Batches of `size` in the order of this epoch, which hangs on nothing else: a resumed run needs no generator's state.
    pub fn batches(&self, epoch: u64, size: usize) -> Vec<(Mine, Vec<usize>)> {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        fastrand::Rng::with_seed(epoch).shuffle(&mut order);
        order.chunks(size).map(|places| self.pick(places)).collect()
    }

    fn pick(&self, places: &[usize]) -> (Mine, Vec<usize>) {
        let pixels = places.iter().flat_map(|place| self.images[*place]);
        let labels = places.iter().map(|place| self.labels[*place]).collect();
        (Mine::new(pixels, &[places.len(), PIXELS]), labels)
    }
}
