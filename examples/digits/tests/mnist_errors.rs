//! Faults of the files of `--data`, told by name before anything is trained.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_example_digits::record::Record;
use binade_example_digits::session;
use common::idx::{Folder, NAMES, gzip, idx, images, labels};
use common::short;

/// Returns a good folder, for one test to spoil.
fn good(name: &str) -> Folder {
    Folder::of(&format!("wrong, {name}"), [8, 8])
}

/// Asserts the session's refusal of the folder, and that nothing ran.
fn refused(folder: &Folder, line: &str, expected: &str) {
    let mut args = short(&format!("--level O0 --batch 10 {line}"));
    args.data = Some(folder.0.clone());
    let mut record = Record::default();
    let error = session::run(&args, &mut record).expect_err(expected);
    assert_eq!(error.to_string(), expected);
    assert!(record.runs.is_empty());
}

/// Asserts the refusal of one file.
fn faulty(folder: &Folder, name: &str, expected: &str) {
    refused(folder, "", &format!("{} {expected}", folder.path(name)));
}

#[test]
fn a_folder_that_is_not_there() {
    let folder = Folder(good("no folder").0.join("nowhere"));
    let text = format!(
        "--data {}: there is no such folder; give one with train-images-idx3-ubyte, train-labels-idx1-ubyte, \
         t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz",
        folder.0.display()
    );
    refused(&folder, "", &text);
}

#[test]
fn any_of_the_four_files_missing() {
    for name in NAMES {
        let folder = good("missing");
        folder.remove(name);
        let packed = folder.path(&format!("{name}.gz"));
        faulty(&folder, name, &format!("is missing, and so is {packed}; put one of them there"));
    }
}

#[test]
fn a_file_of_another_kind_or_length() {
    let renamed = |found, wanted| {
        format!(
            "starts with {found}, and a file of this name with {wanted}; was it renamed? fetch it again"
        )
    };
    let (whole, of_labels) = (images(20, [8, 8]), "0x00000801");
    let mut faults = vec![
        (0, labels(20), renamed(of_labels, "0x00000803")),
        (3, images(10, [8, 8]), renamed("0x00000803", of_labels)),
        (1, b"<!DOCTYPE html><html>".into(), renamed("0x3c21444f", of_labels)),
        (0, gzip(&whole), "is gzipped; add .gz to its name, or unpack it".into()),
        (
            2,
            [images(10, [8, 8]), vec![0]].concat(),
            "goes on after the 656 bytes that its header tells of; fetch it again".into(),
        ),
    ];
    for (end, wanted) in [(0, 16), (3, 16), (15, 16), (16, 1296), (1295, 1296)] {
        let told = format!("is torn: it ends after {end} of {wanted} bytes; fetch it again");
        faults.push((0, whole[..end].to_vec(), told));
    }
    for (place, bytes, told) in faults {
        let folder = good("file");
        folder.put(NAMES[place], &bytes);
        faulty(&folder, NAMES[place], &told);
    }
}

#[test]
fn a_packed_file_torn_or_damaged() {
    let name = format!("{}.gz", NAMES[0]);
    let folder = good("gz");
    folder.remove(NAMES[0]);
    let whole = gzip(&images(20, [8, 8]));
    let mut damaged = whole.clone();
    // The damaged byte is in the checksum that ends a compressed file, before its length.
    let place = damaged.len() - 5;
    damaged[place] ^= 1;
    for bytes in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], &damaged, b"none"] {
        folder.put(&name, bytes);
        told_as_unreadable(&folder, &name);
    }
}

/// Asserts the fixed parts of the message around the decompressor's own.
fn told_as_unreadable(folder: &Folder, name: &str) {
    let mut args = short("--level O0 --batch 10");
    args.data = Some(folder.0.clone());
    let text = session::run(&args, &mut Record::default()).expect_err(name).to_string();
    assert!(text.starts_with(&format!("{} cannot be read: ", folder.path(name))), "{text}");
    let end = "; check that it is a file you may read, or fetch it again";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn a_folder_in_the_place_of_a_file() {
    let folder = good("folder");
    folder.remove(NAMES[1]);
    std::fs::create_dir(folder.0.join(NAMES[1])).unwrap();
    told_as_unreadable(&folder, NAMES[1]);
}

#[test]
fn images_and_labels_of_different_counts() {
    let folder = good("counts");
    folder.put(NAMES[3], &labels(11));
    let other = folder.path(NAMES[3]);
    let told = format!("has 10 images and {other} has 11 labels; take both from one set");
    faulty(&folder, NAMES[2], &told);
}

#[test]
fn a_label_beyond_nine() {
    let folder = good("label");
    folder.put(NAMES[3], &idx(&[10], &[0, 1, 2, 3, 10, 5, 6, 7, 8, 11]));
    let text = format!(
        "{}: label 4, counted from 0, is 10, and labels are 0 to 9; take a set of ten classes",
        folder.path(NAMES[3])
    );
    refused(&folder, "", &text);
}

#[test]
fn images_to_train_and_to_test_of_different_sizes() {
    let folder = good("sizes");
    folder.put(NAMES[2], &images(10, [28, 14]));
    let told =
        "has train images of 8 by 8 pixels and t10k images of 28 by 14; take both from one set";
    refused(&folder, "", &format!("{} {told}", folder.0.display()));
}

#[test]
fn too_few_images_or_none_to_see() {
    for (place, count, size, least) in
        [(0, 1, [8, 8], 2), (0, 20, [0, 8], 2), (2, 10, [8, 0], 1), (2, 0, [8, 8], 1)]
    {
        let folder = good("empty");
        folder.put(
            NAMES[place],
            &idx(&[count, size[0], size[1]], &vec![0; (count * size[0] * size[1]) as usize]),
        );
        folder.put(NAMES[place + 1], &labels(count));
        let told = format!(
            "has {count} images of {} by {} pixels, and needs {least} or more of 1 by 1 or more; take another set",
            size[0], size[1]
        );
        faulty(&folder, NAMES[place], &told);
    }
}

#[test]
fn images_too_small_for_the_convolutional_model() {
    let folder = Folder::of("wrong, small", [3, 28]);
    let text = "--model cnn: images of 3 by 28 pixels are too small for its two poolings, which need 4 by 4; take \
                --model mlp";
    refused(&folder, "--model cnn", text);
}

#[test]
fn a_batch_of_more_images_than_the_files_have() {
    let text = "--batch 21: there are 20 images to train on; take 2 to 20";
    refused(&good("batch"), "--batch 21", text);
}
