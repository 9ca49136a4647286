//! Training with a tape at every level: eight shards give one set of bits on 1, 2, 4 and 8 ranks, whole or in slices.

use crate::common::{PATIENCE, each, each_of_two};
use crate::training::{BUCKET, LEVELS, STEPS, Setting, State, train};
use binade::prelude::*;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ranks::{
    Partition::{Slices, Whole},
    Ranks,
};

/// Asserts that all ranks of all groups end in the same state, with gradients sent during or after backward, and returns that state.
fn one_state(setting: Setting) -> State {
    let told = Setting { is_told: true, ..setting };
    let groups = [1, 2, 4, 8].map(|ranks| (ranks, Whole)).into_iter();
    let groups = groups.chain([1, 2, 4, 8].map(|ranks| (ranks, Slices)));
    let mut states: Vec<State> = groups
        .flat_map(|(ranks, partition)| {
            each(ranks, |group| {
                let rank = Ranks::new(Cpu, group).with_partition(partition);
                train(&rank, setting, 0..STEPS, None)
            })
        })
        .chain(each(2, |group| train(&Ranks::new(Cpu, group), told, 0..STEPS, None)))
        .chain([(1, Whole), (2, Whole), (4, Whole), (4, Slices)].into_iter().flat_map(
            |(ranks, partition)| {
                each_of_two(PATIENCE, ranks, |groups| {
                    let rank = Ranks::overlapping(Cpu, groups, BUCKET).unwrap();
                    train(&rank.with_partition(partition), told, 0..STEPS, None)
                })
            },
        ))
        .collect();
    let first = states.swap_remove(0);
    assert!(states.iter().all(|state| *state == first), "{:?}", setting.properties());
    first
}

#[test]
fn every_level_has_one_set_of_bits_on_any_number_of_ranks() {
    for (level, dtype) in LEVELS {
        let state = one_state(Setting::new(level, dtype));
        assert_eq!(state.scale.updates, STEPS as u64);
    }
}

#[test]
fn clips_and_windows_have_one_set_of_bits_on_any_number_of_ranks() {
    for (level, dtype) in LEVELS {
        let state = one_state(Setting::new(level, dtype).with_windows());
        assert_eq!(state.scale.updates, STEPS as u64);
    }
}

#[test]
fn an_overflow_of_one_shard_skips_everywhere_and_every_report_names_it() {
    for (level, dtype) in LEVELS {
        let state = one_state(Setting::new(level, dtype).with_overflow());
        assert_eq!((state.scale.overflows, state.scale.skipped), (1, 1), "{level} {dtype}");
        let report = &state.reports[2];
        assert!(report.contains("head.weight") && report.contains('4'), "{report}");
    }
}

#[test]
fn a_predicted_scale_has_one_set_of_bits_on_any_number_of_ranks() {
    let setting = Setting::new(OptLevel::O2, DType::F16).with_prediction();
    one_state(setting);
    one_state(Setting { overflow: None, micro_batches: 1, ..setting });
}

#[test]
fn a_run_that_is_resumed_on_another_number_of_ranks_ends_with_the_bits_of_one_that_was_not() {
    let setting = Setting {
        overflow: Some((1, 3)),
        clip: Some(0.05),
        ..Setting::new(OptLevel::O2, DType::F16)
    };
    let whole = one_state(setting);
    let mut from = None;
    for (ranks, partition, steps) in
        [(4, Whole, 0..2), (4, Slices, 2..3), (1, Slices, 3..4), (8, Slices, 4..STEPS)]
    {
        let mut states = each(ranks, |group| {
            let rank = Ranks::new(Cpu, group).with_partition(partition);
            train(&rank, setting, steps.clone(), from.as_ref())
        });
        from = states.pop();
    }
    let resumed = from.unwrap();
    assert_eq!((resumed.checkpoint, resumed.scale), (whole.checkpoint, whole.scale));
}
