//! Images to learn from and to be tested on: the embedded digits, or files of MNIST's format.

mod embedded;
mod idx;
mod mnist;

use std::fmt;
use std::path::Path;

pub use embedded::EmbeddedError;
pub use idx::Fault;
pub use mnist::MnistError;

/// Kinds of digit.
pub const CLASSES: usize = 10;

/// Images in rows of pixels, scaled to 0..=1, and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Height and width of each.
    pub size: [usize; 2],
    /// Image after image, each row after row.
    pub pixels: Vec<f32>,
    /// One an image.
    pub labels: Vec<i64>,
}

impl Images {
    /// How many.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Pixels of one image.
    pub fn area(&self) -> usize {
        self.size.iter().product()
    }

    /// The images of these places, in this order.
    #[must_use]
    pub fn pick(&self, places: &[usize]) -> Self {
        let area = self.area();
        let pixels =
            places.iter().flat_map(|&place| &self.pixels[place * area..(place + 1) * area]);
        Self {
            size: self.size,
            pixels: pixels.copied().collect(),
            labels: places.iter().map(|&place| self.labels[place]).collect(),
        }
    }
}

/// Training and test images, of one size.
#[derive(Clone, Debug)]
pub struct Digits {
    /// What people call them: `digits`, or the folder that they came from.
    pub name: String,
    /// To learn from.
    pub train: Images,
    /// Never seen in training.
    pub test: Images,
}

/// What is wrong with the data.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// With what the program carries.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// With the files of `--data`.
    #[error(transparent)]
    Mnist(#[from] MnistError),
}

impl Digits {
    /// The files in `folder`, or else the embedded images split by `seed`.
    ///
    /// # Errors
    ///
    /// When a file is missing or not what it should be.
    pub fn load(folder: Option<&Path>, seed: u64) -> Result<Self, DataError> {
        match folder {
            Some(folder) => Ok(mnist::load(folder)?),
            None => Ok(Self::embedded(seed)?),
        }
    }

    /// What a table says of them.
    pub fn source(&self) -> Source {
        let (train, test) = (self.train.len(), self.test.len());
        Source { name: self.name.clone(), size: self.train.size, train, test }
    }
}

/// What a run learned from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Source {
    /// As [`Digits::name`] has it.
    pub name: String,
    /// Height and width of each image.
    pub size: [usize; 2],
    /// Images to learn from.
    pub train: usize,
    /// Images to be tested on.
    pub test: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, size: [height, width], train, test } = self;
        write!(f, "{name}, {height} by {width} pixels, {train} images to train and {test} to test")
    }
}
