//! A folder of MNIST's four files, or of another set in their names and format.

use super::idx::{self, Fault, Idx};
use super::{CLASSES, Digits, Images};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// What is wrong with the folder.
#[derive(Debug, thiserror::Error)]
pub enum MnistError {
    /// Nothing to look into.
    #[error(
        "--data {}: there is no such folder; give one with train-images-idx3-ubyte, train-labels-idx1-ubyte, \
         t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz", .0.display()
    )]
    NoFolder(PathBuf),
    /// Neither plain nor packed.
    #[error("{} is missing, and so is {}.gz; put one of them there", .0.display(), .0.display())]
    Missing(PathBuf),
    /// One file in itself.
    #[error("{} {fault}", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// What about it.
        fault: Fault,
    },
    /// Images of no pixels, or too few to train with or to test on.
    #[error(
        "{} has {count} images of {height} by {width} pixels, and needs {least} or more of 1 by 1 or more; take another \
         set", file.display()
    )]
    Empty {
        /// Which one.
        file: PathBuf,
        /// Images in it.
        count: usize,
        /// Of each.
        height: usize,
        /// Of each.
        width: usize,
        /// Images that it needs.
        least: usize,
    },
    /// A label that no image has.
    #[error(
        "{}: label {place}, counted from 0, is {label}, and labels are 0 to 9; take a set of ten classes", file.display()
    )]
    Label {
        /// Which one.
        file: PathBuf,
        /// Counted from 0.
        place: usize,
        /// What stands there.
        label: u8,
    },
    /// Images and labels that cannot be of one set.
    #[error(
        "{} has {images} images and {} has {labels} labels; take both from one set", file.display(), other.display()
    )]
    Counts {
        /// The images.
        file: PathBuf,
        /// How many.
        images: usize,
        /// The labels.
        other: PathBuf,
        /// How many.
        labels: usize,
    },
    /// Training and test images that cannot be of one set.
    #[error(
        "{} has train images of {} by {} pixels and t10k images of {} by {}; take both from one set",
        folder.display(), train[0], train[1], test[0], test[1]
    )]
    Sizes {
        /// Where both are.
        folder: PathBuf,
        /// Height and width.
        train: [usize; 2],
        /// Height and width.
        test: [usize; 2],
    },
}

/// Both sets. A batch to train with is two images or more: normalisation needs them.
pub(super) fn load(folder: &Path) -> Result<Digits, MnistError> {
    if !folder.is_dir() {
        return Err(MnistError::NoFolder(folder.to_owned()));
    }
    let (train, test) = (set(folder, "train", 2)?, set(folder, "t10k", 1)?);
    if train.size != test.size {
        let folder = folder.to_owned();
        return Err(MnistError::Sizes { folder, train: train.size, test: test.size });
    }
    Ok(Digits { name: folder.display().to_string(), train, test })
}

fn set(folder: &Path, name: &str, least: usize) -> Result<Images, MnistError> {
    let (file, images) = read::<3>(folder.join(format!("{name}-images-idx3-ubyte")))?;
    let (other, labels) = read::<1>(folder.join(format!("{name}-labels-idx1-ubyte")))?;
    let [count, height, width] = images.sizes;
    if count != labels.bytes.len() {
        let labels = labels.bytes.len();
        return Err(MnistError::Counts { file, images: count, other, labels });
    }
    if count < least || height == 0 || width == 0 {
        return Err(MnistError::Empty { file, count, height, width, least });
    }
    Ok(Images {
        size: [height, width],
        pixels: images.bytes.into_iter().map(|pixel| f32::from(pixel) / 255.0).collect(),
        labels: digits(other, &labels.bytes)?,
    })
}

fn digits(file: PathBuf, labels: &[u8]) -> Result<Vec<i64>, MnistError> {
    match labels.iter().position(|&label| usize::from(label) >= CLASSES) {
        Some(place) => Err(MnistError::Label { file, place, label: labels[place] }),
        None => Ok(labels.iter().map(|&label| i64::from(label)).collect()),
    }
}

/// The file of this name, or else the packed one; with the name of what was read.
fn read<const N: usize>(plain: PathBuf) -> Result<(PathBuf, Idx<N>), MnistError> {
    let packed = plain.with_added_extension("gz");
    if let Some(file) = open(&plain)? {
        return whole(plain, file);
    }
    match open(&packed)? {
        Some(file) => whole(packed, MultiGzDecoder::new(file)),
        None => Err(MnistError::Missing(plain)),
    }
}

fn whole<const N: usize>(file: PathBuf, bytes: impl Read) -> Result<(PathBuf, Idx<N>), MnistError> {
    match idx::read(bytes) {
        Ok(idx) => Ok((file, idx)),
        Err(fault) => Err(MnistError::File { file, fault }),
    }
}

fn open(file: &Path) -> Result<Option<BufReader<File>>, MnistError> {
    match File::open(file) {
        Ok(opened) => Ok(Some(BufReader::new(opened))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(MnistError::File { file: file.to_owned(), fault: error.into() }),
    }
}
