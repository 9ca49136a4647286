//! Folders of images, as `train/CLASS/NAME.jpg` and `val/CLASS/NAME.png`.

mod generated;
mod loader;
mod random;
mod view;

pub use generated::{COUNTS, default_folder, generate};
pub use loader::{Batch, Loader};
pub use random::order;
pub use view::View;

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File of an image, and its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Path of a JPEG or a PNG.
    pub path: PathBuf,
    /// Place of its class among the classes' names.
    pub label: i64,
}

/// Images to train on and to validate with.
#[derive(Clone, Debug)]
pub struct Data {
    /// Names of the classes, in order.
    pub classes: Vec<String>,
    /// Images to train on, in the order of their paths.
    pub train: Arc<[Sample]>,
    /// Images that training never sees.
    pub val: Arc<[Sample]>,
}

impl Data {
    /// Lists the images of a folder; none is read.
    ///
    /// # Errors
    ///
    /// If `train` or `val` is missing or has no folders, a class has no image or a name that is not UTF-8, or both have not the same
    /// classes.
    pub fn open(folder: &Path) -> Result<Self> {
        let [train, val] = ["train", "val"].map(|name| folder.join(name));
        let (classes, of_val) = (classes(&train)?, classes(&val)?);
        if let Some(class) = classes.iter().find(|class| !of_val.contains(class)) {
            return Err(missing(class, &val));
        }
        if let Some(class) = of_val.iter().find(|class| !classes.contains(class)) {
            return Err(missing(class, &train));
        }
        let samples = |split: &Path| -> Result<Arc<[Sample]>> {
            let each =
                classes.iter().zip(0..).map(|(class, label)| images(&split.join(class), label));
            Ok(each.collect::<Result<Vec<_>>>()?.concat().into())
        };
        Ok(Self { train: samples(&train)?, val: samples(&val)?, classes })
    }
}

fn missing(class: &str, split: &Path) -> Box<dyn std::error::Error> {
    let split = split.display();
    format!("{split}: it has no class `{class}`, which the other has; train and val need a folder for each class").into()
}

/// Returns the names of a folder's folders, in order.
fn classes(split: &Path) -> Result<Vec<String>> {
    const ADVICE: &str = "DIR needs train/CLASS/ and val/CLASS/ with .jpg or .png images; --generate DIR makes such a folder, and \
                          without DIR generated pictures are trained on";
    let of_split = |why: &dyn std::fmt::Display| format!("{}: {why}; {ADVICE}", split.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(split).map_err(|error| of_split(&error))? {
        let path = entry?.path();
        if is_hidden(&path) || !path.is_dir() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let told = || format!("{}: its name is not UTF-8; rename the class", path.display());
        names.push(name.ok_or_else(told)?.to_owned());
    }
    names.sort();
    if names.is_empty() {
        return Err(of_split(&"it has no folder, so no class").into());
    }
    Ok(names)
}

/// Returns true for a name that begins with a dot, which is a tool's.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the images of a class, in the order of their names.
fn images(class: &Path, label: i64) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for entry in fs::read_dir(class).map_err(|error| format!("{}: {error}", class.display()))? {
        let path = entry?.path();
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let is_image = ["jpg", "jpeg", "png"].contains(&&*extension.to_lowercase());
        if is_image && !is_hidden(&path) {
            samples.push(Sample { path, label });
        }
    }
    samples.sort_by(|a, b| a.path.cmp(&b.path));
    if samples.is_empty() {
        return Err(format!(
            "{}: it has no image; put .jpg, .jpeg or .png files in it, or remove this class from train and val",
            class.display()
        )
        .into());
    }
    Ok(samples)
}
