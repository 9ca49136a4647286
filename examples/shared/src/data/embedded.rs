//! Embedded digits: read, shuffled once by seed, split into training and test.

use super::{CLASSES, Digits, Images};
use flate2::read::GzDecoder;
use std::io::{self, BufRead, BufReader};

const SIZE: [usize; 2] = [8, 8];
const PIXELS: usize = SIZE[0] * SIZE[1];
/// Number of images kept for the test: a fifth.
const TEST: usize = 360;

impl Digits {
    /// Loads the embedded images, split by `seed`.
    ///
    /// # Errors
    ///
    /// If the embedded file is damaged.
    pub fn embedded(seed: u64) -> io::Result<Self> {
        let packed: &[u8] = include_bytes!("../../data/digits.csv.gz");
        let all = read(BufReader::new(GzDecoder::new(packed)))?;
        let mut order: Vec<usize> = (0..all.len()).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        let (test, train) = order.split_at(TEST.min(order.len()));
        Ok(Self { name: "digits".into(), train: all.pick(train), test: all.pick(test) })
    }
}

fn read(lines: impl BufRead) -> io::Result<Images> {
    let mut images = Images { size: SIZE, pixels: Vec::new(), labels: Vec::new() };
    for (index, line) in lines.lines().enumerate() {
        let text = line?;
        let (pixels, label) = parse(&text).ok_or_else(|| {
            let line = index + 1;
            io::Error::other(format!(
                "digits.csv.gz, line {line}: {text:?} is not 64 pixels from 0 to 16 and a label from 0 to 9"
            ))
        })?;
        images.pixels.extend(pixels);
        images.labels.push(label);
    }
    Ok(images)
}

fn parse(line: &str) -> Option<(Vec<f32>, i64)> {
    let numbers =
        line.trim().split(',').map(|n| n.parse::<u8>().ok()).collect::<Option<Vec<_>>>()?;
    let (label, pixels) = numbers.split_last()?;
    let fits =
        pixels.len() == PIXELS && pixels.iter().all(|&p| p <= 16) && usize::from(*label) < CLASSES;
    fits.then(|| (pixels.iter().map(|&p| f32::from(p) / 16.0).collect(), i64::from(*label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_file_has_every_image_and_every_class() {
        let digits = Digits::embedded(0).unwrap();
        assert_eq!((digits.train.len(), digits.test.len()), (1437, TEST));
        for class in 0..10 {
            assert!(digits.test.labels.contains(&class), "{class}");
        }
        assert!(digits.train.pixels.iter().all(|p| (0.0..=1.0).contains(p)));
    }

    #[test]
    fn a_seed_fixes_the_split() {
        let labels = |seed| Digits::embedded(seed).unwrap().test.labels;
        assert_eq!(labels(7), labels(7));
        assert_ne!(labels(7), labels(8));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let error = read("1,2,3\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("1,2,3"), "{error}");
    }
}
