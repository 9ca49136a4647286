//! Loader of a folder with MNIST's four files, or another set in their names and format.

use super::idx::{self, Idx, unread};
use super::{CLASSES, Digits, Images};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Loads both sets. Training needs two images or more, because of normalisation.
pub(super) fn load(folder: &Path) -> Result<Digits, String> {
    let name = folder.display();
    if !folder.is_dir() {
        return Err(format!(
            "--data {name}: there is no such folder; give one with train-images-idx3-ubyte, train-labels-idx1-ubyte, \
             t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz"
        ));
    }
    let (train, test) = (set(folder, "train", 2)?, set(folder, "t10k", 1)?);
    if train.size != test.size {
        let ([height, width], [other_height, other_width]) = (train.size, test.size);
        return Err(format!(
            "{name} has train images of {height} by {width} pixels and t10k images of {other_height} by {other_width}; \
             take both from one set"
        ));
    }
    Ok(Digits { name: name.to_string(), train, test })
}

fn set(folder: &Path, name: &str, least: usize) -> Result<Images, String> {
    let (file, images) = read::<3>(&folder.join(format!("{name}-images-idx3-ubyte")))?;
    let (other, labels) = read::<1>(&folder.join(format!("{name}-labels-idx1-ubyte")))?;
    let [count, height, width] = images.sizes;
    let labelled = labels.bytes.len();
    if count != labelled {
        return Err(format!(
            "{file} has {count} images and {other} has {labelled} labels; take both from one set"
        ));
    }
    if count < least || height == 0 || width == 0 {
        return Err(format!(
            "{file} has {count} images of {height} by {width} pixels, and needs {least} or more of 1 by 1 or more; take \
             another set"
        ));
    }
    if let Some(place) = labels.bytes.iter().position(|&label| usize::from(label) >= CLASSES) {
        let label = labels.bytes[place];
        return Err(format!(
            "{other}: label {place}, counted from 0, is {label}, and labels are 0 to 9; take a set of ten classes"
        ));
    }
    Ok(Images {
        size: [height, width],
        pixels: images.bytes.into_iter().map(|pixel| f32::from(pixel) / 255.0).collect(),
        labels: labels.bytes.into_iter().map(i64::from).collect(),
    })
}

/// Reads the file of this name, or else the compressed one, and returns the path it has read.
fn read<const N: usize>(plain: &Path) -> Result<(String, Idx<N>), String> {
    let packed = plain.with_added_extension("gz");
    let (path, idx) = match (open(plain)?, open(&packed)?) {
        (Some(file), _) => (plain.to_owned(), idx::read(file)),
        (None, Some(file)) => (packed, idx::read(MultiGzDecoder::new(file))),
        (None, None) => {
            let (plain, packed) = (plain.display(), packed.display());
            return Err(format!("{plain} is missing, and so is {packed}; put one of them there"));
        }
    };
    let path = path.display().to_string();
    idx.map(|idx| (path.clone(), idx)).map_err(|fault| format!("{path} {fault}"))
}

fn open(file: &Path) -> Result<Option<BufReader<File>>, String> {
    match File::open(file) {
        Ok(opened) => Ok(Some(BufReader::new(opened))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} {}", file.display(), unread(&error))),
    }
}
