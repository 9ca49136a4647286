//! Ranks that fail while they write: the last checkpoint or the previous one is whole, and the next write cleans up.

use crate::common::ranks::{Keeps, each};
use crate::common::{folder, names};
use binade_checkpoint::{Checkpoint, Draft, FileError, SaveError, previous};
use binade_core::{DType, RawTensor, TensorSpec};
use binade_cpu::Cpu;
use binade_ranks::{Group, GroupError, Ranks, RanksError, Threads};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Group that fails on its rank at the call with this number, from 1, before or after the other ranks get the rank's bytes.
struct Mortal {
    group: Threads,
    calls: AtomicUsize,
    dies_at: usize,
    is_told: bool,
}

impl Mortal {
    fn call<T>(&self, call: impl FnOnce() -> Result<T, GroupError>) -> Result<T, GroupError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if number < self.dies_at || number == self.dies_at && self.is_told {
            let done = call()?;
            if number < self.dies_at {
                return Ok(done);
            }
        }
        Err(GroupError::Failed { call: "test", why: "this rank dies".into() })
    }
}

impl Group for Mortal {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn ranks(&self) -> usize {
        self.group.ranks()
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        self.call(|| self.group.all_gather(own, lengths, all))
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        self.call(|| self.group.exchange(send, sends, receive, receives))
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.call(|| self.group.broadcast(root, bytes))
    }
}

fn numbered(number: usize) -> Checkpoint {
    let spec = TensorSpec::new(DType::U8, [100]);
    let raw = RawTensor::new(spec, vec![u8::try_from(number).unwrap(); 100]).unwrap();
    Draft::fresh().word("number", number).tensor("bytes", raw).finish().unwrap()
}

fn number(checkpoint: &Checkpoint) -> usize {
    let number = checkpoint.words["number"].parse().unwrap();
    assert!(checkpoint.tensors["bytes"].bytes().iter().all(|byte| usize::from(*byte) == number));
    number
}

fn write(path: &Path, value: usize) {
    each(2, |group| numbered(value).write_by_rank(&Ranks::new(Cpu, group), path).unwrap());
}

/// Number of the group's calls in a write: a header and a text for each of three meetings.
const CALLS: usize = 6;

/// Number of files of two checkpoints: two manifests, and a file of each rank.
const FILES: usize = 6;

#[test]
fn a_rank_that_ends_at_any_call_leaves_the_last_checkpoint_or_the_new_one_whole() {
    let folder = folder("by_rank_ends");
    let path = folder.join("run");
    write(&path, 1);
    write(&path, 2);
    let (mut last, mut left) = (2, 0);
    for rank in 0..2 {
        for (dies_at, is_told) in (1..=CALLS + 1).flat_map(|call| [(call, false), (call, true)]) {
            let done = each(2, |group| {
                let dies_at = if group.rank() == rank { dies_at } else { usize::MAX };
                let calls = AtomicUsize::new(0);
                let group = Mortal { group, calls, dies_at, is_told };
                numbered(last + 1).write_by_rank(&Ranks::new(Cpu, group), &path).is_ok()
            });
            let here = format!("rank {rank} at call {dies_at}, told: {is_told}; {done:?}");
            let now = Checkpoint::read(&path).map(|it| number(&it));
            let now = now.unwrap_or_else(|error| panic!("{here}: {error}"));
            assert_eq!(number(&Checkpoint::read(&previous(&path)).unwrap()), now - 1, "{here}");
            // The manifest is put in place between the second meeting and the third, by rank 0, if it knows of all files.
            let knows = dies_at > 4 || dies_at == 4 && is_told && rank == 1;
            assert_eq!(now, if knows { last + 1 } else { last }, "{here}");
            last = now;
            assert_eq!(done[rank], dies_at > CALLS, "{here}");
            left += usize::from(names(&folder).len() > FILES);
        }
    }
    // Files of dead ranks are removed, and never used.
    assert!(left > 0);
    write(&path, last + 1);
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), last + 1);
    assert_eq!(names(&folder).len(), FILES, "{:?}", names(&folder));
}

#[test]
fn a_rank_that_cannot_write_is_named_on_all_which_may_go_on() {
    let folder = folder("by_rank_cannot");
    let (path, nowhere) = (folder.join("run"), folder.join("no/run"));
    write(&path, 1);
    each(3, |group| {
        let own = group.rank();
        let rank = Ranks::new(Cpu, group);
        let error = numbered(2).write_by_rank(&rank, if own == 1 { &nowhere } else { &path });
        match error.unwrap_err() {
            SaveError::File(FileError::Rank { rank: 1, why }) if own != 1 => {
                assert!(
                    why.starts_with("cannot write") && why.contains("no/run.2.1-of-3"),
                    "{why}"
                );
            }
            SaveError::File(FileError::Io { .. }) if own == 1 => {}
            other => panic!("{other}"),
        }
        rank.gather("end", &[]).unwrap();
        if own == 0 {
            assert_eq!(number(&Checkpoint::read(&path).unwrap()), 1);
            assert_eq!(names(&folder), ["run", "run.1.0-of-2", "run.1.1-of-2"]);
        }
        rank.gather("end", &[]).unwrap();
        numbered(2).write_by_rank(&rank, &path).unwrap();
    });
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), 2);
}

#[test]
fn a_file_that_rank_0_does_not_see_is_told_on_all() {
    let [here, elsewhere] = ["by_rank_here", "by_rank_elsewhere"].map(folder);
    let told = each(2, |group| {
        let path = [&here, &elsewhere][group.rank()].join("run");
        numbered(1).write_by_rank(&Ranks::new(Cpu, group), &path).unwrap_err().to_string()
    });
    let seen = here.join("run.1.1-of-2");
    let expected = format!(
        "rank 1 has written {}, which rank 0 does not see as it was written: give all ranks a path on one shared file system, \
         or save whole files",
        seen.display()
    );
    assert_eq!(told, [expected.clone(), format!("on rank 0: {expected}")]);
    assert!(!here.join("run").exists());
}

#[test]
fn someone_elses_files_are_not_replaced_and_ranks_hear_of_it_before_they_write() {
    let folder = folder("by_rank_foreign");
    let path = folder.join("notes.txt");
    fs::write(&path, "what is to be done before the deadline").unwrap();
    let told = each(2, |group| {
        numbered(1).write_by_rank(&Ranks::new(Cpu, group), &path).unwrap_err().to_string()
    });
    assert!(told.iter().all(|told| told.contains("no safetensors file")), "{told:?}");
    assert_eq!(names(&folder), ["notes.txt"]);
    // A file in the way of rank 1, which rank 0 does not see, stays.
    let [here, elsewhere] =
        ["by_rank_in_the_way_0", "by_rank_in_the_way_1"].map(crate::common::folder);
    fs::write(elsewhere.join("run.1.1-of-2"), "mine").unwrap();
    each(2, |group| {
        let path = [&here, &elsewhere][group.rank()].join("run");
        let error = numbered(1).write_by_rank(&Ranks::new(Cpu, group), &path).unwrap_err();
        assert!(error.to_string().contains("run.1.1-of-2"), "{error}");
    });
    assert_eq!(fs::read_to_string(elsewhere.join("run.1.1-of-2")).unwrap(), "mine");
    assert!(names(&here).is_empty());
}

#[test]
fn ranks_that_read_other_files_at_one_path_are_told() {
    let [here, elsewhere] = ["by_rank_read_here", "by_rank_read_elsewhere"].map(folder);
    write(&here.join("run"), 1);
    write(&elsewhere.join("run"), 2);
    let told = each(2, |group| {
        let path = [&here, &elsewhere][group.rank()].join("run");
        let error = Checkpoint::read_by_rank(&Keeps::Whole.on(group), &path).unwrap_err();
        error.to_string()
    });
    assert!(told.iter().all(|told| told.contains("and not")), "{told:?}");
    assert!(told[0].starts_with("on rank 1: "), "{told:?}");
}

#[test]
fn a_rank_that_fails_alone_hears_its_own_error() {
    let path = folder("by_rank_own_error").join("run");
    each(2, |group| {
        let is_first = group.rank() == 0;
        let rank = Ranks::new(Cpu, group);
        let name = if is_first { "run" } else { "walk" };
        let error = numbered(1).write_by_rank(&rank, &path.with_file_name(name)).unwrap_err();
        assert!(matches!(error, SaveError::Device(RanksError::Desync(_))), "{error}");
    });
}
