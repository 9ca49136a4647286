//! Loader of a folder with MNIST's four files, or another set in their names and format.

use super::idx::{self, Fault, Idx};
use super::{CLASSES, Digits, Images};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Fault of the folder.
#[derive(Debug, thiserror::Error)]
pub enum MnistError {
    /// Folder that does not exist.
    #[error(
        "--data {}: there is no such folder; give one with train-images-idx3-ubyte, train-labels-idx1-ubyte, \
         t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz", .0.display()
    )]
    NoFolder(PathBuf),
    /// File that exists neither plain nor compressed.
    #[error("{} is missing, and so is {}.gz; put one of them there", .0.display(), .0.display())]
    Missing(PathBuf),
    /// File with a fault of its own.
    #[error("{} {fault}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Fault of the file.
        fault: Fault,
    },
    /// File with images of no pixels, or with too few images to train or to test.
    #[error(
        "{} has {count} images of {height} by {width} pixels, and needs {least} or more of 1 by 1 or more; take another \
         set", file.display()
    )]
    Empty {
        /// Path of the file.
        file: PathBuf,
        /// Number of images in it.
        count: usize,
        /// Height of each image.
        height: usize,
        /// Width of each image.
        width: usize,
        /// Least number of images.
        least: usize,
    },
    /// Label outside the classes.
    #[error(
        "{}: label {place}, counted from 0, is {label}, and labels are 0 to 9; take a set of ten classes", file.display()
    )]
    Label {
        /// Path of the file.
        file: PathBuf,
        /// Index of the label, from 0.
        place: usize,
        /// Value of the label.
        label: u8,
    },
    /// Images and labels of different number.
    #[error(
        "{} has {images} images and {} has {labels} labels; take both from one set", file.display(), other.display()
    )]
    Counts {
        /// Path of the images.
        file: PathBuf,
        /// Number of images.
        images: usize,
        /// Path of the labels.
        other: PathBuf,
        /// Number of labels.
        labels: usize,
    },
    /// Training and test images of different size.
    #[error(
        "{} has train images of {} by {} pixels and t10k images of {} by {}; take both from one set",
        folder.display(), train[0], train[1], test[0], test[1]
    )]
    Sizes {
        /// Path of the folder.
        folder: PathBuf,
        /// Height and width of training images.
        train: [usize; 2],
        /// Height and width of test images.
        test: [usize; 2],
    },
}

/// Loads both sets. Training needs two images or more, because of normalisation.
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

/// Reads the file of this name, or else the compressed one, and returns the path it has read.
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
