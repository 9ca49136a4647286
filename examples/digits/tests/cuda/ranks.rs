//! Training on two and four ranks, each with a part of every batch, is near training on one device that has the whole: the same steps are
//! applied, at the same scales, across an overflow of the last rank. That ranks end with the same weights is the program's own check.

use crate::common::{agree::assert_near, digits, short};
use binade_cuda::Cuda;
use binade_example_digits::record::Run;
use binade_example_digits::{config, gpus, train};
use binade_example_shared::agree::Line;
use indicatif::ProgressBar;

/// Levels, each with the relative bound on the mean loss of rank 0's part of an epoch from the one device's, of all.
pub(crate) const RUNS: [Line; 3] = [
    ("--level O0 --batch 40", 0.25),
    ("--level O1 --dtype f16 --batch 40 --growth-interval 3 --inject-overflow 3", 0.25),
    ("--level O2 --dtype f16 --batch 40 --optimizer sgd --accumulate 2 --clip-norm 0.5", 0.25),
];

pub(crate) fn agree(cuda: &Cuda, line: &str, share: f32) {
    let args = |more: &str| short(&format!("{line} {more}"));
    let [setting] = config::settings(&args("")).try_into().unwrap();
    let (digits, bar) = (digits(&args("")), ProgressBar::hidden());
    let alone: Run = train::run(cuda, &args(""), setting, &digits, &bar).unwrap();
    for ranks in [1, 2, 4] {
        let args = args(&format!("--device cuda --ranks {ranks}"));
        let run = gpus::run(ranks, &args, setting, &digits, &bar).unwrap();
        assert_near(&alone, &run, if ranks == 1 { 0.0 } else { share });
        let off = run.accuracy() - alone.accuracy();
        assert!(off.abs() <= 0.03, "{ranks} ranks: {} {}", run.right, alone.right);
        let rank = format!(" of rank {} is +inf", ranks - 1);
        let told = run.outcomes.first_skip.is_none_or(|told| ranks == 1 || told.contains(&rank));
        assert!(told, "the last rank has the infinite gradient");
    }
}
