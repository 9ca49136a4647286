//! Images of handwritten digits, split into training and test.

mod embedded;

use std::fmt;

/// Number of classes.
pub const CLASSES: usize = 10;

/// Images in rows of pixels, scaled to 0..=1, and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Height and width of each image.
    pub size: [usize; 2],
    /// Pixels, image after image, each row after row.
    pub pixels: Vec<f32>,
    /// Labels, one an image.
    pub labels: Vec<i64>,
}

impl Images {
    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns true if there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the number of pixels of one image.
    pub fn area(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the images at these indices, in this order.
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
    /// Name of the set: `digits`, or the folder that it came from.
    pub name: String,
    /// Training images.
    pub train: Images,
    /// Test images, which training never sees.
    pub test: Images,
}

impl Digits {
    /// Returns the description of the set for a table.
    pub fn source(&self) -> Source {
        let (train, test) = (self.train.len(), self.test.len());
        Source { name: self.name.clone(), size: self.train.size, train, test }
    }
}

/// Description of a run's images.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Source {
    /// Name of the set, as [`Digits::name`] has it.
    pub name: String,
    /// Height and width of each image.
    pub size: [usize; 2],
    /// Number of training images.
    pub train: usize,
    /// Number of test images.
    pub test: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, size: [height, width], train, test } = self;
        write!(f, "{name}, {height} by {width} pixels, {train} images to train and {test} to test")
    }
}

/// Returns the index of the largest logit of a row; `None` if a logit is NaN.
pub fn best(row: &[f32]) -> Option<usize> {
    if row.iter().any(|x| x.is_nan()) {
        return None;
    }
    row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::best;

    #[test]
    fn a_row_with_a_nan_is_right_for_no_label() {
        assert_eq!(best(&[0.0, 2.0, 1.0]), Some(1));
        assert_eq!(best(&[0.0, f32::NAN, 1.0]), None);
    }
}
