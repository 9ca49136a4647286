//! Arguments as typed, of a thin model on a few generated pictures, and files of the tests.

use binade_example_imagenet::args::Args;
use binade_example_imagenet::data::generate;
use binade_example_imagenet::report::Run;
use binade_example_imagenet::session;
use clap::Parser;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{fs, process};

/// Parses arguments as typed, after the program's name.
pub(crate) fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("imagenet").chain(line.split_whitespace()))
}

/// Folder of 4 pictures of each of 8 classes to train on, and 2 to validate with, written once for all tests. Programs of tests that run
/// at the same time have one each.
pub(crate) static PICTURES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = file(&format!("pictures-{}", process::id()));
    let _ = fs::remove_dir_all(&folder);
    generate(&folder, [4, 2]).unwrap();
    folder
});

/// Folder of 16 pictures of each of two colours to train on, and 4 to validate with: a few steps learn them.
pub(crate) static COLOURS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = file("colours");
    for (part, count) in [("train", 16_u8), ("val", 4)] {
        for (class, channel) in [("blue", 2), ("red", 0)] {
            let class = folder.join(part).join(class);
            fs::create_dir_all(&class).unwrap();
            for number in 0..count {
                let mut pixel = image::Rgb([60 + number; 3]);
                pixel.0[channel] = 180;
                let picture = image::RgbImage::from_pixel(20, 20, pixel);
                picture.save(class.join(format!("{number}.png"))).unwrap();
            }
        }
    }
    folder
});

/// Returns arguments of a model of 45,000 parameters on small pictures, in epochs of 4 steps, unless `line` says otherwise.
pub(crate) fn small(line: &str) -> Args {
    let sizes = "--width 4 --image-size 16 --batch-size 8 --epochs 2 --workers 2 --print-freq 3";
    Args { data: Some(PICTURES.clone()), ..parse(&format!("{sizes} {line}")).unwrap() }
}

/// Returns the path of a file that a test may write.
pub(crate) fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("imagenet");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Trains the thin model as `line` says.
pub(crate) fn run(line: &str) -> Run {
    session::train(&small(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
}
