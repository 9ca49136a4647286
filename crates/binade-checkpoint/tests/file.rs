//! Files are replaced whole, the previous one is kept, and other files are not touched.

use crate::common::{folder, names};
use binade_checkpoint::{Checkpoint, Draft, FileError, Loaded, previous};
use std::fs;
use std::path::Path;

fn numbered(number: u32) -> Checkpoint {
    Draft::fresh().word("number", number).finish().unwrap()
}

fn number(checkpoint: &Checkpoint) -> u32 {
    checkpoint.words["number"].parse().unwrap()
}

/// Returns the previous checkpoint, and the reason why it was read.
fn fallen_back(path: &Path) -> (Checkpoint, FileError) {
    match Checkpoint::read_or_previous(path).unwrap() {
        Loaded::Previous { checkpoint, why } => (checkpoint, why),
        Loaded::Last(checkpoint) => panic!("the last was taken: {checkpoint:?}"),
    }
}

#[test]
fn the_last_is_read_and_the_one_before_is_kept_beside_it() {
    let folder = folder("kept");
    let path = folder.join("run.safetensors");
    for last in 1..=3 {
        numbered(last).write(&path).unwrap();
        assert_eq!(number(&Checkpoint::read(&path).unwrap()), last);
        assert!(matches!(Checkpoint::read_or_previous(&path), Ok(Loaded::Last(_))));
    }
    assert_eq!(number(&Checkpoint::read(&previous(&path)).unwrap()), 2);
    assert_eq!(names(&folder), ["run.safetensors", "run.safetensors.previous"]);
}

#[test]
fn where_the_last_is_not_whole_it_is_an_error_that_names_the_one_before_which_may_be_read() {
    let path = folder("fallback").join("run");
    numbered(1).write(&path).unwrap();
    numbered(2).write(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (checkpoint, why) = fallen_back(&path);
    let torn = format!("{}: it is torn", path.display());
    assert!(number(&checkpoint) == 1 && why.to_string().starts_with(&torn), "{why}");
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    let before = previous(&path);
    let advice = format!(
        "The checkpoint before it, {}, is whole: `Checkpoint::read_or_previous` takes it, and the steps since it are lost",
        before.display()
    );
    assert!(error.starts_with(&torn) && error.ends_with(&advice), "{error}");
    fs::remove_file(&path).unwrap();
    let (checkpoint, why) = fallen_back(&path);
    assert!(number(&checkpoint) == 1 && matches!(why, FileError::Io { .. }));
    fs::write(&path, b"").unwrap();
    fs::write(&before, b"").unwrap();
    let error = Checkpoint::read(&path).unwrap_err();
    assert!(matches!(error, FileError::Format { path: named, .. } if named == path));
}

#[test]
fn a_torn_file_is_not_kept_in_place_of_a_whole_one() {
    let folder = folder("torn");
    let path = folder.join("run");
    numbered(1).write(&path).unwrap();
    numbered(2).write(&path).unwrap();
    fs::write(&path, b"").unwrap();
    numbered(3).write(&path).unwrap();
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), 3);
    assert_eq!(number(&Checkpoint::read(&previous(&path)).unwrap()), 1);
}

#[test]
fn what_a_killed_process_left_is_ignored_and_cleaned() {
    let folder = folder("left");
    let path = folder.join("run");
    numbered(1).write(&path).unwrap();
    fs::write(folder.join("run.partial"), b"half of a").unwrap();
    // Killed between the two renames: one file under two names, and a third.
    fs::hard_link(&path, previous(&path)).unwrap();
    fs::hard_link(&path, folder.join("run.linked")).unwrap();
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), 1);
    numbered(2).write(&path).unwrap();
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), 2);
    assert_eq!(number(&Checkpoint::read(&previous(&path)).unwrap()), 1);
    assert_eq!(names(&folder), ["run", "run.previous"]);
}

#[test]
fn someone_elses_file_is_not_replaced() {
    let folder = folder("foreign");
    let path = folder.join("notes.txt");
    fs::write(&path, "what is to be done before the deadline").unwrap();
    let error = numbered(1).write(&path).unwrap_err().to_string();
    assert!(error.contains("notes.txt") && error.contains("no safetensors file"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "what is to be done before the deadline");
}

#[test]
fn none_at_all_names_both_places() {
    let path = folder("none").join("run");
    let error = Checkpoint::read(&path).unwrap_err();
    let (last, before) = (path.display(), previous(&path));
    let expected = format!(
        "there is no checkpoint {last}, and none in {}: give the file of an earlier run, or start anew",
        before.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let path = folder("nowhere").join("no/run");
    let error = numbered(1).write(&path).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("no/run.partial"), "{error}");
}
