//! `--data` trains on files of MNIST's format, plain or compressed, with images of any size; faults of the files are told by name before
//! anything is trained.

use crate::common::idx::{Folder, NAMES, gzip, idx, images, labels};
use crate::common::short;
use binade_example_digits::data::{self, Digits};
use binade_example_digits::record::Run;
use binade_example_digits::{session, table};

/// Runs one session of one epoch on the folder's files. The error is its message, before which nothing ran.
fn session(folder: &Folder, line: &str) -> Result<Run, String> {
    let mut args = short(&format!("--level O2 --dtype f16 --batch 10 --epochs 1 {line}"));
    args.data = Some(folder.0.clone());
    let mut runs = Vec::new();
    let ended = session::run(&args, &mut runs).map_err(|error| error.to_string());
    assert_eq!(runs.len(), usize::from(ended.is_ok()));
    ended.map(|()| runs.remove(0))
}

fn trained(folder: &Folder, line: &str) -> Run {
    session(folder, line).unwrap()
}

fn load(folder: &Folder) -> Digits {
    data::load(Some(&folder.0), 0).unwrap()
}

#[test]
fn both_models_train_on_images_of_mnists_size_and_of_others() {
    let mlp = 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10;
    let cnn = 9 * 16 + 2 * 16 + 9 * 16 * 32 + 2 * 32 + 49 * 32 * 10 + 10;
    for size in [[28, 28], [4, 4], [5, 11], [9, 6]] {
        let folder = Folder::of(&format!("size {size:?}"), size);
        for (model, elements) in [("mlp", mlp), ("cnn", cnn)] {
            let run = trained(&folder, &format!("--level O0 --model {model}"));
            assert_eq!((run.outcomes.steps.attempted, run.losses.len()), (2, 1), "{model}");
            assert!(run.final_loss().is_finite(), "{model} {size:?}: {:?}", run.losses);
            assert!(size != [28, 28] || run.bytes.parameters == 4 * elements, "{model}");
        }
    }
}

#[test]
fn the_files_are_learned() {
    let run = trained(&Folder::of("learned", [28, 28]), "--epochs 15");
    assert_eq!(run.accuracy(), 1.0, "{:?}", run.losses);
}

#[test]
fn packed_files_train_to_the_same_bits_as_plain_ones_which_come_first() {
    let folder = Folder::of("packed", [8, 8]);
    let plain = trained(&folder, "");
    folder.pack(NAMES[0]);
    assert_eq!(trained(&folder, "").losses, plain.losses, "one of four");
    NAMES[1..].iter().for_each(|name| folder.pack(name));
    let packed = trained(&folder, "");
    assert_eq!((packed.losses, packed.right), (plain.losses, plain.right));
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
    folder.put(NAMES[2], &idx(&[1203, 2, 2], &[128; 4 * 1203]));
    folder.put(NAMES[3], &labels(1203));
    let right = trained(&folder, "").right;
    let tenth = [120, 121];
    assert!(tenth.contains(&right), "the same answer to all is right for a tenth: {right}");
}

#[test]
fn the_table_says_which_images_were_trained_on() {
    let folder = Folder::of("named", [5, 6]);
    let text = table::table(&[trained(&folder, "")]).replace("\n  ", " ");
    let folder = folder.0.display();
    let data = format!("data: {folder}, 5 by 6 pixels, 20 images to train and 10 to test.");
    assert!(text.contains(&data), "{text}");
}

/// Asserts the refusal of a good folder of 8 by 8 pixels with these files changed, by a message about the file at `place`.
fn faulty(changed: &[(usize, Vec<u8>)], place: usize, expected: &str) {
    let folder = Folder::of(&format!("wrong, {expected:.40}"), [8, 8]);
    for (place, bytes) in changed {
        folder.put(NAMES[*place], bytes);
    }
    let expected = expected.replace("{other}", &folder.path(NAMES[(place + 1) % 4]));
    let told = session(&folder, "--level O0").unwrap_err();
    assert_eq!(told, format!("{} {expected}", folder.path(NAMES[place])));
}

#[test]
fn a_file_of_another_kind_or_length() {
    let renamed = |found, wanted| {
        format!(
            "starts with {found}, and a file of this name with {wanted}; was it renamed? fetch it again"
        )
    };
    let (whole, of_labels) = (images(20, [8, 8]), "0x00000801");
    let long = [images(10, [8, 8]), vec![0]].concat();
    for (place, bytes, told) in [
        (0, labels(20), renamed(of_labels, "0x00000803")),
        (3, images(10, [8, 8]), renamed("0x00000803", of_labels)),
        (1, b"<!DOCTYPE html><html>".into(), renamed("0x3c21444f", of_labels)),
        (0, gzip(&whole), "is gzipped; add .gz to its name, or unpack it".into()),
        (2, long, "goes on after the 656 bytes that its header tells of; fetch it again".into()),
    ] {
        faulty(&[(place, bytes)], place, &told);
    }
    for (end, wanted) in [(0, 16), (3, 16), (15, 16), (16, 1296), (1295, 1296)] {
        let told = format!("is torn: it ends after {end} of {wanted} bytes; fetch it again");
        faulty(&[(0, whole[..end].to_vec())], 0, &told);
    }
}

#[test]
fn images_or_labels_that_do_not_go_together() {
    let few = "has 10 images and {other} has 11 labels; take both from one set";
    faulty(&[(3, labels(11))], 2, few);
    let wrong = idx(&[10], &[0, 1, 2, 3, 10, 5, 6, 7, 8, 11]);
    let told = ": label 4, counted from 0, is 10, and labels are 0 to 9; take a set of ten classes";
    let folder = Folder::of("wrong, label", [8, 8]);
    folder.put(NAMES[3], &wrong);
    assert_eq!(session(&folder, "").unwrap_err(), format!("{}{told}", folder.path(NAMES[3])));
    for (place, count, size, least) in
        [(0, 1, [8, 8], 2), (0, 20, [0, 8], 2), (2, 10, [8, 0], 1), (2, 0, [8, 8], 1)]
    {
        let pixels = vec![0; (count * size[0] * size[1]) as usize];
        let told = format!(
            "has {count} images of {} by {} pixels, and needs {least} or more of 1 by 1 or more; take another set",
            size[0], size[1]
        );
        let files = [(place, idx(&[count, size[0], size[1]], &pixels)), (place + 1, labels(count))];
        faulty(&files, place, &told);
    }
}

#[test]
fn a_folder_or_a_file_that_is_missing_torn_or_no_file() {
    let folder = Folder(Folder::of("wrong, no folder", [8, 8]).0.join("nowhere"));
    let told = session(&folder, "").unwrap_err();
    let start = format!("--data {}: there is no such folder; give one with ", folder.0.display());
    assert!(told.starts_with(&start) && told.contains(NAMES[0]), "{told}");
    for name in NAMES {
        let folder = Folder::of("wrong, missing", [8, 8]);
        let whole = gzip(&folder.remove(name));
        let packed = format!("{name}.gz");
        let told = format!(
            "{} is missing, and so is {}; put one of them there",
            folder.path(name),
            folder.path(&packed)
        );
        assert_eq!(session(&folder, "").unwrap_err(), told);
        let mut damaged = whole.clone();
        // The damaged byte is in the checksum that ends a compressed file, before its length.
        let place = damaged.len() - 5;
        damaged[place] ^= 1;
        for bytes in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], &damaged, b"none"] {
            folder.put(&packed, bytes);
            unreadable(&folder, &packed);
        }
        std::fs::create_dir(folder.0.join(name)).unwrap();
        unreadable(&folder, name);
    }
}

/// Asserts the fixed parts of the message around the system's or the decompressor's own.
fn unreadable(folder: &Folder, name: &str) {
    let told = session(folder, "").unwrap_err();
    assert!(told.starts_with(&format!("{} cannot be read: ", folder.path(name))), "{told}");
    let end = "; check that it is a file you may read, or fetch it again";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn images_that_no_model_or_batch_takes() {
    let folder = Folder::of("wrong, sizes", [8, 8]);
    folder.put(NAMES[2], &images(10, [28, 14]));
    let told =
        "has train images of 8 by 8 pixels and t10k images of 28 by 14; take both from one set";
    assert_eq!(session(&folder, "").unwrap_err(), format!("{} {told}", folder.0.display()));
    let told = "--model cnn: images of 3 by 28 pixels are too small for its two poolings, which need 4 by 4; take \
                --model mlp";
    let small = Folder::of("wrong, small", [3, 28]);
    assert_eq!(session(&small, "--model cnn").unwrap_err(), told);
    let told = "--batch 21: there are 20 images to train on; take 2 to 20";
    assert_eq!(session(&small, "--batch 21").unwrap_err(), told);
}
