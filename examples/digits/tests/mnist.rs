//! `--data` trains on files of MNIST's format: plain or compressed, and with images of any size.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_example_digits::data::{self, Digits};
use binade_example_digits::record::{Record, Run};
use binade_example_digits::{session, table};
use common::idx::{Folder, NAMES, idx, labels};
use common::short;

/// Runs one session of one epoch on the folder's files.
fn trained(folder: &Folder, line: &str) -> Run {
    let mut args = short(&format!("--level O2 --dtype f16 --batch 10 --epochs 1 {line}"));
    args.data = Some(folder.0.clone());
    let mut record = Record::default();
    session::run(&args, &mut record).unwrap();
    let [run] = record.runs.try_into().unwrap();
    run
}

fn load(folder: &Folder) -> Digits {
    data::load(Some(&folder.0), 0).unwrap()
}

#[test]
fn both_models_train_on_images_of_mnists_size() {
    let folder = Folder::of("of mnist's size", [28, 28]);
    let mlp = 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10;
    let cnn = 9 * 16 + 2 * 16 + 9 * 16 * 32 + 2 * 32 + 49 * 32 * 10 + 10;
    for (model, elements) in [("mlp", mlp), ("cnn", cnn)] {
        let run = trained(&folder, &format!("--level O0 --model {model}"));
        assert_eq!((run.steps.attempted, run.losses.len()), (2, 1), "{model}");
        assert!(run.final_loss.is_finite(), "{model}: {}", run.final_loss);
        assert_eq!(run.bytes.parameters, 4 * elements, "{model}");
    }
}

#[test]
fn both_models_take_other_sizes_and_sides_that_differ() {
    for size in [[4, 4], [5, 11], [9, 6]] {
        let folder = Folder::of(&format!("size {size:?}"), size);
        for model in ["mlp", "cnn"] {
            let run = trained(&folder, &format!("--model {model}"));
            assert!(run.final_loss.is_finite(), "{model} {size:?}: {}", run.final_loss);
        }
    }
}

#[test]
fn what_is_in_the_files_is_learned() {
    let run = trained(&Folder::of("learned", [28, 28]), "--epochs 15");
    assert_eq!(run.accuracy, 1.0, "{:?}", run.losses);
}

#[test]
fn packed_files_train_to_the_same_bits_as_plain_ones() {
    let folder = Folder::of("packed", [8, 8]);
    let plain = trained(&folder, "");
    folder.pack(NAMES[0]);
    assert_eq!(trained(&folder, "").losses, plain.losses, "one of four");
    NAMES[1..].iter().for_each(|name| folder.pack(name));
    let packed = trained(&folder, "");
    assert_eq!((packed.losses, packed.accuracy), (plain.losses, plain.accuracy));
}

#[test]
fn a_plain_file_comes_before_a_packed_one() {
    let folder = Folder::of("both", [8, 8]);
    folder.put(&format!("{}.gz", NAMES[0]), b"none");
    assert_eq!(load(&folder).train.len(), 20);
}

#[test]
fn pixels_are_zero_to_one_as_the_embedded_ones_are() {
    let folder = Folder::of("range", [1, 3]);
    folder.put(NAMES[2], &idx(&[1, 1, 3], &[0, 51, 255]));
    folder.put(NAMES[3], &labels(1));
    assert_eq!(load(&folder).test.pixels, [0.0, 0.2, 1.0]);
}

/// There are more images than go through the model together.
#[test]
fn every_image_of_a_large_test_counts() {
    let folder = Folder::of("large test", [2, 2]);
    let labels = labels(1203);
    folder.put(NAMES[2], &idx(&[1203, 2, 2], &[128; 4 * 1203]));
    folder.put(NAMES[3], &labels);
    let right = (1203.0 * trained(&folder, "").accuracy).round();
    assert!(
        [120.0, 121.0].contains(&right),
        "the same answer to all is right for a tenth: {right}"
    );
}

#[test]
fn the_table_says_what_was_trained_on() {
    let folder = Folder::of("named", [5, 6]);
    let text = table::table(&[trained(&folder, "")]).replace("\n  ", " ");
    let folder = folder.0.display();
    let data = format!("data: {folder}, 5 by 6 pixels, 20 images to train and 10 to test.");
    assert!(text.contains(&data), "{text}");
}
