//! Files of ranks that are truncated, corrupt, missing or of another checkpoint: the error names the file, and the previous checkpoint is read.

use crate::common::ranks::{Keeps, each, go_on};
use crate::common::{Setting, folder, resummed};
use binade_checkpoint::{Checkpoint, FormatError, Loaded, previous};
use binade_master_weights::UpdateRule;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes two checkpoints of three ranks, after one micro-batch and after two.
fn written(name: &str) -> PathBuf {
    let path = folder(name).join("run");
    let setting = Setting::new(UpdateRule::adamw(0.01));
    for _ in 0..2 {
        go_on((3, Keeps::Slices), &setting, &path, 1);
    }
    path
}

fn place(checkpoint: &Checkpoint) -> &str {
    &checkpoint.words["place"]
}

/// Asserts that one process and each of several ranks read the previous checkpoint, and say why.
fn fall_back(path: &Path, words: &[&str]) {
    let told = |loaded| match loaded {
        Loaded::Previous { checkpoint, why } => {
            assert_eq!(place(&checkpoint), "1", "{words:?}");
            why.to_string()
        }
        Loaded::Last(_) => panic!("the last was taken: {words:?}"),
    };
    let mut all = vec![told(Checkpoint::read_or_previous(path).unwrap())];
    for ranks in [1, 2, 4] {
        all.extend(each(ranks, |group| {
            told(Checkpoint::read_by_rank(&Keeps::Slices.on(group), path).unwrap())
        }));
    }
    for told in all {
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    }
    let strict = Checkpoint::read(path).unwrap_err().to_string();
    assert!(strict.contains("run.previous, is whole: `Checkpoint::read_or_previous`"), "{strict}");
}

#[test]
fn a_file_of_a_rank_that_is_not_as_written_is_named_and_the_previous_checkpoint_is_read() {
    let path = written("by_rank_torn");
    let beside = |name: &str| path.with_file_name(name);
    for rank in 0..3 {
        let name = format!("run.2.{rank}-of-3");
        let file = beside(&name);
        let whole = fs::read(&file).unwrap();
        let fall_back_on = |bytes: Option<&[u8]>, word: &str| {
            match bytes {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            fall_back(&path, &[&name, word]);
        };
        fall_back_on(None, "cannot read");
        fall_back_on(Some(&[]), "it has 0 bytes, and the manifest names");
        fall_back_on(Some(&whole[..whole.len() - 1]), "bytes, and the manifest names");
        fall_back_on(Some(&vec![0; whole.len()]), "");
        // A bit of the last tensor, and of the header.
        for (at, word) in [(whole.len() - 1, "it is torn or has been changed"), (100, "")] {
            let mut rotten = whole.clone();
            rotten[at] ^= 1;
            fall_back_on(Some(&rotten), word);
        }
        // A file whose own checksum is right.
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        fall_back_on(Some(&resummed(other)), "it is of another checkpoint than its manifest");
        let before = fs::read(beside(&format!("run.1.{rank}-of-3"))).unwrap();
        fall_back_on(Some(&before), "it is of another checkpoint than its manifest");
        fs::write(&file, &whole).unwrap();
    }
    // Swapped files of two ranks.
    let [first, second] = [0, 2].map(|rank| beside(&format!("run.2.{rank}-of-3")));
    let bytes = [&first, &second].map(|file| fs::read(file).unwrap());
    fs::write(&first, &bytes[1]).unwrap();
    fs::write(&second, &bytes[0]).unwrap();
    fall_back(&path, &["run.2.0-of-3", "it is of another checkpoint than its manifest"]);
    fs::write(&first, &bytes[0]).unwrap();
    fs::write(&second, &bytes[1]).unwrap();
    assert_eq!(place(&Checkpoint::read(&path).unwrap()), "2");
}

#[test]
fn a_manifest_that_is_torn_or_gone_is_an_error_and_the_previous_checkpoint_is_read() {
    let path = written("by_rank_manifest");
    let whole = fs::read(&path).unwrap();
    for length in [0, 20, 60, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        fall_back(&path, &["run: it is torn"]);
    }
    fs::remove_file(&path).unwrap();
    fall_back(&path, &["cannot read"]);
    // Neither is whole: the error is of the last.
    fs::write(&path, &whole).unwrap();
    for step in [1, 2] {
        fs::remove_file(path.with_file_name(format!("run.{step}.1-of-3"))).unwrap();
    }
    let told = Checkpoint::read(&path).unwrap_err().to_string();
    assert!(told.starts_with("cannot read") && told.contains("run.2.1-of-3"), "{told}");
    for told in each(2, |group| {
        Checkpoint::read_by_rank(&Keeps::Slices.on(group), &path).unwrap_err().to_string()
    }) {
        assert!(told.starts_with("cannot read") && told.contains("run.2.1-of-3"), "{told}");
    }
    fs::remove_file(&path).unwrap();
    fs::remove_file(previous(&path)).unwrap();
    for told in each(2, |group| {
        Checkpoint::read_by_rank(&Keeps::Slices.on(group), &path).unwrap_err().to_string()
    }) {
        assert!(told.starts_with("there is no checkpoint"), "{told}");
    }
}

#[test]
fn a_damage_that_one_rank_finds_is_told_by_all() {
    let path = written("by_rank_found");
    let file = path.with_file_name("run.2.1-of-3");
    let mut rotten = fs::read(&file).unwrap();
    *rotten.last_mut().unwrap() ^= 1;
    fs::write(&file, rotten).unwrap();
    // The second of two ranks checks the file of rank 1.
    let told = each(2, |group| match Checkpoint::read_by_rank(&Keeps::Slices.on(group), &path) {
        Ok(Loaded::Previous { why, .. }) => why.to_string(),
        other => panic!("{other:?}"),
    });
    assert!(told[0].starts_with("on rank 1: ") && told[0].contains("run.2.1-of-3"), "{told:?}");
    assert!(told[0].ends_with(&told[1]), "{told:?}");
}

#[test]
fn a_torn_checkpoint_by_rank_is_not_kept_in_place_of_a_whole_one() {
    let path = written("by_rank_not_kept");
    fs::remove_file(path.with_file_name("run.2.1-of-3")).unwrap();
    each(2, |group| {
        let rank = Keeps::Slices.on(group);
        let Loaded::Previous { checkpoint, .. } = Checkpoint::read_by_rank(&rank, &path).unwrap()
        else {
            panic!("the last is torn");
        };
        // Slices that this rank has read are those that it writes.
        checkpoint.write_by_rank(&rank, &path).unwrap();
    });
    for path in [&path, &previous(&path)] {
        assert_eq!(place(&Checkpoint::read(path).unwrap()), "1");
    }
}

#[test]
fn a_manifest_and_a_file_of_a_rank_say_what_they_are() {
    let path = written("by_rank_told");
    let error = Checkpoint::from_bytes(&fs::read(&path).unwrap()).unwrap_err();
    assert_eq!(error, FormatError::Manifest);
    let told = Checkpoint::read(&path.with_file_name("run.2.0-of-3")).unwrap_err().to_string();
    assert!(
        told.contains("it is one rank's file of a checkpoint by rank: give the manifest"),
        "{told}"
    );
}

/// Corrects the checksum, so that the index after it is read.
#[test]
fn an_index_that_says_anything_is_an_error_and_no_panic() {
    let path = written("by_rank_anything");
    let mut random = fastrand::Rng::with_seed(1);
    for name in ["run", "run.2.0-of-3"] {
        let file = path.with_file_name(name);
        let whole = fs::read(&file).unwrap();
        let header = usize::try_from(u64::from_le_bytes(whole[..8].try_into().unwrap())).unwrap();
        for _ in 0..300 {
            let mut bytes = whole.clone();
            bytes[8 + random.usize(..header)] = *random.choice(b"0129\"}],:[ax").unwrap();
            fs::write(&file, resummed(bytes)).unwrap();
            // Reading may succeed if a custom string was changed.
            let _ = Checkpoint::read_or_previous(&path);
        }
        fs::write(&file, whole).unwrap();
    }
}
