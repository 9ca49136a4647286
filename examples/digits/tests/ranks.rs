//! Training on ranks: any number of them ends with the same weights, and learns as one device does.

use crate::common::idx::Folder;
use crate::common::{digits, only, short};
use binade_checkpoint::Checkpoint;
use binade_example_digits::config;
use binade_example_digits::ranks;
use binade_example_digits::record::{Run, Steps};
use indicatif::ProgressBar;

fn on_ranks(count: usize, line: &str) -> Run {
    let args = short(&format!("{line} --ranks {count}"));
    let [setting] = config::settings(&args).try_into().unwrap();
    ranks::run(count, &args, setting, &digits(&args), &ProgressBar::hidden()).unwrap()
}

#[test]
fn any_number_of_ranks_ends_with_the_same_weights_scales_and_accuracy() {
    for line in [
        "--level O0",
        "--level O1 --dtype f16 --inject-overflow 3",
        "--level O1 --dtype bf16 --accumulate 2",
        "--level O2 --dtype f16 --clip-norm 0.5 --growth-interval 3",
        "--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2 --inject-overflow 2",
        "--level O3 --optimizer sgd",
    ] {
        let figures = |mut run: Run| {
            // The rank that overflowed hangs on the number of ranks.
            if let Some(report) = &mut run.outcomes.first_skip {
                *report = (0..8).fold(report.clone(), |report, rank| {
                    report.replace(&format!(" of rank {rank}"), "")
                });
            }
            (run.weights.unwrap(), run.outcomes, run.right)
        };
        let one = figures(on_ranks(1, line));
        for count in [2, 4, 8] {
            assert_eq!(figures(on_ranks(count, line)), one, "{line} on {count}");
            let slices = figures(on_ranks(count, &format!("{line} --slices")));
            assert_eq!(slices, one, "slices of {line} on {count}");
        }
        for count in [1, 2, 4] {
            let line = format!("{line} --overlap");
            assert_eq!(figures(on_ranks(count, &line)), one, "{line} on {count}");
        }
        assert_ne!(one.0, figures(on_ranks(2, &format!("{line} --seed 1"))).0, "{line}");
    }
}

#[test]
fn ranks_learn_as_one_device_does() {
    // The mean of four images has larger gradients than that of 32.
    let line = "--level O2 --dtype f16 --init-scale 2^12";
    let (alone, run) = (only(line), on_ranks(4, line));
    assert_eq!(run.outcomes.steps, Steps { attempted: 14, applied: 14, skipped: 0 });
    assert_eq!(run.outcomes.scales, alone.outcomes.scales);
    assert!(run.losses[1] < run.losses[0], "{:?}", run.losses);
    assert!((run.accuracy() - alone.accuracy()).abs() <= 0.05, "{} {}", run.right, alone.right);
}

#[test]
fn images_normalised_together_train_any_number_of_ranks_as_one_device() {
    let line = "--model cnn --level O2 --dtype bf16 --epochs 1 --batch 40";
    let alone = only(line);
    let together = |count| on_ranks(count, &format!("{line} --sync-bn"));
    let near = |run: &Run, wanted: &Run, room: f32| {
        assert_eq!(run.outcomes.steps, Steps { attempted: 5, applied: 5, skipped: 0 });
        assert!(
            (run.accuracy() - wanted.accuracy()).abs() <= 0.03,
            "{} {}",
            run.right,
            wanted.right
        );
        assert!((run.losses[0] - wanted.losses[0]).abs() <= room, "{:?}", run.losses);
    };
    // One rank has the loss of the whole batch, and others that of their own part.
    near(&together(1), &alone, 0.01);
    for count in [2, 4, 8] {
        near(&together(count), &alone, 0.2);
    }
}

#[test]
fn a_run_that_is_saved_by_rank_is_resumed_on_any_number_of_ranks() {
    let folder = Folder::empty("by-rank");
    for (number, line) in [
        "--model mlp --level O2 --dtype f16 --clip-norm 0.5 --inject-overflow 9 --slices",
        "--model mlp --level O1 --dtype bf16 --accumulate 2",
        "--model cnn --level O2 --dtype bf16 --sync-bn --batch 40 --slices",
    ]
    .into_iter()
    .enumerate()
    {
        let path = |name| folder.path(&format!("{name}{number}"));
        let run = |count, epochs: usize, name| {
            let path = path(name);
            on_ranks(count, &format!("{line} --epochs {epochs} --checkpoint-by-rank {path}"))
        };
        let bytes = |name| {
            let checkpoint = Checkpoint::read(path(name).as_ref()).unwrap();
            assert_eq!(checkpoint.words["epochs"], "3");
            checkpoint.to_bytes().unwrap()
        };
        // As many ranks trains to the same bits, and any other number too, unless a part of the batch depends on it.
        let counts = if line.contains("--sync-bn") { [2, 2, 2] } else { [4, 1, 2] };
        let whole = run(2, 3, "whole");
        for (count, epochs) in counts.into_iter().zip(1..) {
            let part = run(count, epochs, "part");
            assert_eq!(part.losses.len(), 1, "{line}: one epoch was left");
            if epochs == 3 {
                assert_eq!(part.weights, whole.weights, "{line}");
                assert_eq!(part.outcomes.steps, whole.outcomes.steps, "{line}");
            }
        }
        assert!(bytes("part") == bytes("whole"), "{line}");
    }
}

#[test]
fn an_overflow_of_the_last_rank_is_named_in_the_report() {
    let run = on_ranks(4, "--level O2 --dtype f16 --init-scale 2^8 --inject-overflow 3");
    assert_eq!(run.outcomes.steps, Steps { attempted: 14, applied: 13, skipped: 1 });
    let report = run.outcomes.first_skip.unwrap();
    assert!(report.contains("linear0.weight[0] of rank 3 is +inf"), "{report}");
}

#[test]
fn a_rest_smaller_than_the_shards_is_no_batch() {
    let args = short("--batch 32 --ranks 2");
    assert_eq!((config::batches(&args, 39), config::batches(&args, 40)), (1, 2));
}
