//! Folders of images that cannot be trained on: the error names the folder or the file, and says what to do.

use crate::common::{file, small};
use binade_example_imagenet::args::Args;
use binade_example_imagenet::data::Data;
use binade_example_imagenet::session;
use image::RgbImage;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a folder with these pictures, by path.
fn folder(name: &str, pictures: &[&str]) -> PathBuf {
    let folder = file(name);
    let _ = fs::remove_dir_all(&folder);
    for path in pictures {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        RgbImage::new(20, 20).save(path).unwrap();
    }
    folder
}

fn refused(folder: &Path, by: &str, told: &str) {
    let error = Data::open(folder).unwrap_err().to_string();
    assert_eq!(error, format!("{}: {told}", folder.join(by).display()));
}

#[test]
fn a_folder_lists_images_by_class_and_leaves_other_files_out() {
    let pictures =
        ["train/b/2.PNG", "train/b/1.jpeg", "train/a/1.jpg", "val/a/1.png", "val/b/1.jpg"];
    let folder = folder("whole", &pictures);
    fs::write(folder.join("train/a/notes.txt"), "no image").unwrap();
    fs::create_dir(folder.join("train/.git")).unwrap();
    fs::write(folder.join("train/a/._1.jpg"), "no image").unwrap();
    let data = Data::open(&folder).unwrap();
    assert_eq!(data.classes, ["a", "b"]);
    let listed: Vec<_> =
        data.train.iter().map(|it| (it.path.strip_prefix(&folder).unwrap(), it.label)).collect();
    let [b2, b1, a1, ..] = pictures.map(Path::new);
    assert_eq!(listed, [(a1, 0), (b1, 1), (b2, 1)]);
    assert_eq!(data.val.len(), 2);
}

#[test]
fn a_folder_that_is_missing_tells_what_it_needs_and_how_to_make_one() {
    let error = Data::open(Path::new("gone")).unwrap_err().to_string();
    assert!(error.starts_with("gone/train: "), "{error}");
    let told = "; DIR needs train/CLASS/ and val/CLASS/ with .jpg or .png images; --generate DIR makes such a folder, and without DIR \
                generated pictures are trained on";
    assert!(error.ends_with(told), "{error}");
    let flat = folder("flat", &["train/a/1.png", "val/1.png"]);
    let error = Data::open(&flat).unwrap_err().to_string();
    assert!(error.contains("it has no folder, so no class") && error.ends_with(told), "{error}");
}

#[test]
fn classes_that_are_empty_or_in_one_part_alone_are_named() {
    let other = "which the other has; train and val need a folder for each class";
    let lacking = folder("lacking", &["train/a/1.png", "train/b/1.png", "val/a/1.png"]);
    refused(&lacking, "val", &format!("it has no class `b`, {other}"));
    let extra = folder("extra", &["train/a/1.png", "val/a/1.png", "val/c/1.png"]);
    refused(&extra, "train", &format!("it has no class `c`, {other}"));
    let empty = folder("empty", &["train/a/1.png", "train/b/1.png", "val/a/1.png"]);
    fs::create_dir(empty.join("val/b")).unwrap();
    let advice = "put .jpg, .jpeg or .png files in it, or remove this class from train and val";
    refused(&empty, "val/b", &format!("it has no image; {advice}"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_class_whose_name_is_not_utf_8_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = folder("not_utf_8", &["train/a/1.png", "val/a/1.png"]);
    let class = folder.join("train").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&class).unwrap();
    let told = "its name is not UTF-8; rename the class";
    assert_eq!(
        Data::open(&folder).unwrap_err().to_string(),
        format!("{}: {told}", class.display())
    );
}

#[test]
fn an_image_that_cannot_be_read_is_named() {
    let folder = folder("broken", &["train/a/1.png", "train/a/2.png", "val/a/1.png"]);
    let broken = folder.join("train/a/2.png");
    fs::write(&broken, "no image").unwrap();
    let args = Args { data: Some(folder), ..small("--batch-size 2") };
    let error = session::train(&args).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: ", broken.display())), "{error}");
    assert!(
        error.ends_with("; replace it with a JPEG or PNG that can be read, or remove it"),
        "{error}"
    );
}
