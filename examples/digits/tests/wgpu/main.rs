//! Training by wgpu agrees with training on the CPU, seed by seed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

use binade_example_shared::agree::{self, Line};
use binade_wgpu::Wgpu;
use common::agree::{TYPES, agree};
use common::weights;

const RUNS: [Line; 6] = [
    ("--level O0", 1e-4),
    ("--level O0 --optimizer sgd --accumulate 2", 1e-4),
    ("--level O1 --dtype f16 --inject-overflow 3", 2e-2),
    ("--level O2 --dtype f16 --inject-overflow 2 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2", 2e-2),
    ("--model cnn --epochs 1 --batch 100 --level O2 --dtype f16", 2e-2),
];

fn main() {
    let tests: [(&str, agree::Test<Wgpu>, &[Line]); 2] = [
        ("agrees_with_the_cpu", agree, &RUNS),
        ("a_weight_that_was_stepped_is_cast_anew", weights::stepped, &TYPES),
    ];
    agree::main(agree::trials(&Wgpu::open(), &["wgpu"], &tests));
}
