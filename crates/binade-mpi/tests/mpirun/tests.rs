//! Tests, each of which starts jobs and checks how they end.

use crate::job::{alone, on_ranks, on_ranks_by, on_ranks_with};
use crate::memory;
use crate::programs::{SHORT, hash, trained};
use crate::resumed;
use crate::training::{STEPS, train};
use binade_cpu::Cpu;
use binade_ranks::{Alone, Ranks, threads};
use std::{env, fs, process, thread, time::Duration};

macro_rules! all {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), $name as fn())),*] };
}

pub(crate) const ALL: [(&str, fn()); 18] = all![
    bytes_come_in_the_order_of_ranks_and_a_part_may_be_empty,
    two_groups_call_at_once_from_two_threads,
    processes_train_to_the_bits_of_threads,
    slices_that_are_killed_and_resumed_on_fewer_ranks_have_the_bits_of_a_run_that_was_not,
    a_program_that_no_launcher_started_is_one_rank,
    buffers_are_kept_from_step_to_step,
    a_rank_that_is_late_is_waited_for,
    ranks_wait_for_each_other_at_the_end,
    a_rank_that_stalls_is_named_within_the_patience,
    a_rank_that_stalls_in_backward_is_named,
    a_rank_that_stalls_before_the_end_is_named,
    other_calls_are_told,
    other_lengths_are_told,
    an_error_ends_every_rank,
    a_panic_ends_every_rank,
    a_killed_rank_ends_every_rank,
    a_rank_at_another_scale_is_told_on_all,
    what_cannot_be_sent_is_refused,
];

/// Returns a line of each rank.
fn of_each(ranks: usize, line: impl Fn(usize) -> String) -> Vec<String> {
    (0..ranks).map(line).collect()
}

fn bytes_come_in_the_order_of_ranks_and_a_part_may_be_empty() {
    for ranks in [1, 2, 4, 8] {
        let end = on_ranks(ranks, "calls").well();
        assert_eq!(end.lines(), of_each(ranks, |rank| format!("rank {rank} of {ranks} called")));
    }
}

fn two_groups_call_at_once_from_two_threads() {
    for ranks in [1, 2, 4] {
        let end = on_ranks(ranks, "two_threads").well();
        assert_eq!(end.lines(), of_each(ranks, |rank| format!("rank {rank} called twice")));
    }
}

fn processes_train_to_the_bits_of_threads() {
    let of_threads = |setting| {
        let hash = move |group| hash(&Ranks::new(Cpu, group), setting);
        let groups = threads(2, Duration::from_mins(1)).into_iter();
        let ranks: Vec<_> = groups.map(|group| thread::spawn(move || hash(group))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).next().unwrap()
    };
    let line = |(name, setting)| format!("{name}: {:x}", of_threads(setting));
    let expected: Vec<String> = trained().into_iter().map(line).collect();
    let by = |parameters: &[&str], ranks, program| {
        let end = on_ranks_by(parameters, ranks, program).well();
        // Each rank prints each setting twice: of whole masters, and of slices.
        let mut expected: Vec<_> = expected.iter().flat_map(|line| vec![line; 2 * ranks]).collect();
        expected.sort_unstable();
        assert_eq!(end.lines(), expected, "{program} {parameters:?}");
    };
    for ranks in [1, 2, 4, 8] {
        by(&[], ranks, "settings");
    }
    for ranks in [1, 2, 4] {
        by(&[], ranks, "settings_that_overlap");
    }
    // Shared memory and binomial trees are the defaults; an algorithm is linear, or a chain.
    for parameters in [
        &["--mca", "coll_libnbc_ibcast_algorithm", "1"][..],
        &["--mca", "coll_libnbc_ibcast_algorithm", "3"],
        &["--mca", "coll_libnbc_iallgather_algorithm", "1"],
        &["--mca", "btl", "tcp,self"],
    ] {
        by(parameters, 4, "settings");
    }
    by(&["--mca", "btl", "tcp,self"], 4, "settings_that_overlap");
}

fn slices_that_are_killed_and_resumed_on_fewer_ranks_have_the_bits_of_a_run_that_was_not() {
    let file = env::temp_dir().join(format!("binade-mpi-{}.state", process::id()));
    let path = file.to_str().unwrap();
    let whole = train(&Ranks::new(Cpu, Alone), resumed::setting(), 0..STEPS, None);
    // Of the six steps two are saved, then four; a step has three exchanges.
    for (ranks, saved) in [(4, 2), (2, 4)] {
        let variables = [(resumed::FILE, path), (resumed::KILLED_AT, "8")];
        on_ranks_with(&variables, ranks, "resumed").failed_soon();
        assert_eq!(resumed::read(&file).unwrap().0, saved);
    }
    let end = on_ranks_with(&[(resumed::FILE, path)], 1, "resumed").well();
    assert_eq!(end.lines(), ["rank 0 goes on from step 4"]);
    let (steps, checkpoint) = resumed::read(&file).unwrap();
    assert!(steps == STEPS && checkpoint == whole.checkpoint);
    fs::remove_file(file).unwrap();
}

fn a_program_that_no_launcher_started_is_one_rank() {
    assert_eq!(alone("calls").well().lines(), ["rank 0 of 1 called"]);
    let end = alone("again").well();
    assert!(end.errors.contains("MPI was started in this process before"), "{end:?}");
}

fn buffers_are_kept_from_step_to_step() {
    let end = on_ranks_with(&[memory::EACH_IS_NEW], 2, "memory").well();
    // Downloads, packed bytes, averages, the tensors made from them, and small allocations.
    assert_eq!(end.lines(), ["5 and 5 pages"; 2]);
}

fn a_rank_that_is_late_is_waited_for() {
    let end = on_ranks(3, "late").well();
    assert_eq!(end.lines(), of_each(3, |rank| format!("rank {rank} was in time")));
}

fn ranks_wait_for_each_other_at_the_end() {
    let end = on_ranks(3, "unequal_ends").well();
    assert_eq!(end.lines(), of_each(3, |rank| format!("rank {rank} ends")));
}

fn a_rank_that_stalls_is_named_within_the_patience() {
    let end = on_ranks(4, "stall").failed_soon();
    let told = "ranks [1] of 4 did not come to `all_gather` within 3s";
    for (line, rank) in end.lines().into_iter().zip([0, 2, 3]) {
        assert!(line.starts_with(&format!("rank {rank}: {told}")), "{end:?}");
    }
    assert_eq!(end.lines().len(), 3, "{end:?}");
    assert!(end.took >= SHORT && end.errors.contains(told), "{end:?}");
}

fn a_rank_that_stalls_in_backward_is_named() {
    let end = on_ranks(3, "stall_in_backward").failed_soon();
    for (line, rank) in end.lines().into_iter().zip([0, 2]) {
        assert!(line.starts_with(&format!("rank {rank}: ranks [1] of 3 did not come")), "{end:?}");
    }
    assert_eq!(end.lines().len(), 2, "{end:?}");
}

fn a_rank_that_stalls_before_the_end_is_named() {
    let end = on_ranks(3, "stall_at_the_end").failed_soon();
    assert!(end.errors.contains("ranks [1] of 3 did not come to `the end of MPI`"), "{end:?}");
}

fn other_calls_are_told() {
    let end = on_ranks(3, "mixed").failed_soon();
    assert_eq!(end.lines().len(), 3, "{end:?}");
    assert!(end.lines()[0].contains("this rank calls `broadcast`, rank 1 `all_gather`"), "{end:?}");
}

fn other_lengths_are_told() {
    let end = on_ranks(3, "other_lengths").failed_soon();
    let lines = end.lines();
    assert_eq!(lines.len(), 3, "{end:?}");
    // MPI itself reports a part that is too long.
    assert!(lines[0].contains("MPI's error") && lines[2].contains("MPI's error"), "{end:?}");
    assert!(lines[1].contains("1 bytes came of rank 2, where 2 were expected"), "{end:?}");
}

fn an_error_ends_every_rank() {
    let end = on_ranks(4, "error").failed_soon();
    assert!(end.errors.contains("error on rank 2 of 4: the disk is full"), "{end:?}");
}

fn a_panic_ends_every_rank() {
    for program in ["panic", "panic_beside_a_call"] {
        let end = on_ranks(4, program).failed_soon();
        assert!(end.errors.contains("a bug"), "{end:?}");
    }
}

fn a_killed_rank_ends_every_rank() {
    on_ranks(4, "kill").failed_soon();
}

fn a_rank_at_another_scale_is_told_on_all() {
    let end = on_ranks(4, "desync").failed_soon();
    assert_eq!(end.lines().len(), 4, "{end:?}");
    for line in end.lines() {
        assert!(line.contains("ranks differ in the loss scale"), "{end:?}");
        assert!(line.contains("ranks [2] have 512"), "{end:?}");
    }
}

fn what_cannot_be_sent_is_refused() {
    for (ranks, told) in [
        (1, "3000000000 bytes are more than the 2147483647 that MPI counts"),
        (2, "18446744073709551615 bytes are more than the 2147483647 that MPI counts"),
        (3, "there is no rank 7 among 3"),
        (4, "1 bytes are given, and the lengths of their parts sum to"),
    ] {
        let end = on_ranks(ranks, "refused").failed_soon();
        assert_eq!(end.lines().len(), ranks, "{end:?}");
        assert!(end.lines().into_iter().all(|line| line.contains(told)), "{end:?}");
    }
}
