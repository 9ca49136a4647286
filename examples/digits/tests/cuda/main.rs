//! Training on CUDA agrees with training on the CPU, seed by seed, on a GPU or on the interpreter in its place.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captured;
#[path = "../common/mod.rs"]
mod common;
mod ranks;
mod training;
mod written;

use binade_cuda::Cuda;
use binade_example_shared::agree::{self, Line};
use common::agree::{TYPES, agree};
use common::weights;

const RUNS: [Line; 9] = [
    ("--level O0", 1e-4),
    ("--level O0 --optimizer sgd --accumulate 2", 1e-4),
    ("--level O1 --dtype f16 --inject-overflow 3", 2e-2),
    ("--level O1 --dtype bf16", 2e-2),
    ("--level O2 --dtype f16 --inject-overflow 2 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2", 2e-2),
    ("--level O3 --dtype f16 --optimizer sgd", 2e-2),
    ("--model cnn --epochs 1 --batch 100 --level O0", 1e-4),
    ("--model cnn --epochs 1 --batch 100 --level O2 --dtype f16", 2e-2),
];

fn main() {
    let tests: [(&str, agree::Test<Cuda>, &[Line]); 6] = [
        ("agrees_with_the_cpu", agree, &RUNS),
        ("captured_steps_agree", captured::agree, &captured::RUNS),
        ("a_tape_that_is_kept_is_named", captured::refuse, &captured::RUNS),
        ("ranks_agree", ranks::agree, &ranks::RUNS),
        ("a_weight_that_was_stepped_is_cast_anew", weights::stepped, &TYPES),
        (
            "a_weight_that_was_written_is_cast_anew",
            written::a_weight_that_was_written_is_cast_anew,
            &TYPES,
        ),
    ];
    agree::main(agree::trials(&Cuda::open(0), &["cuda", "ptx"], &tests));
}
