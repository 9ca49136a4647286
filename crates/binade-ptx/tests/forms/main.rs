//! Meaning of every form at the edges, against a loop on the host that is written another way.

#[path = "../support/mod.rs"]
mod support;

mod bits;
mod compare;
mod compute;
mod convert;
mod float;
mod integer;
mod matrix;
mod memory;
mod together;

use std::collections::BTreeSet;

use binade_ptx::{Module, known_forms};
use support::{FIXTURES, fixture};

/// Forms that a test of their own runs in `meaning.rs` or `strict.rs`, or whose result cannot be wrong.
const ELSEWHERE: [&str; 10] = [
    "and.pred",
    "mov.u64",
    "add.f32",
    "add.ftz.f32",
    "mul.f32",
    "mul.ftz.f32",
    "sub.f32",
    "shfl.sync.bfly.b32",
    "shfl.sync.idx.b32",
    "shfl.sync.up.b32",
];

#[test]
fn every_form_of_the_table_is_run_by_a_test() {
    let mut run: BTreeSet<String> = ELSEWHERE.map(str::to_owned).into();
    let fixtures: Vec<_> = FIXTURES.iter().map(|(name, _)| fixture(name)).collect();
    run.extend(fixtures.iter().flat_map(Module::forms).map(str::to_owned));
    for forms in [
        bits::forms(),
        compare::forms(),
        convert::forms(),
        float::forms(),
        integer::forms(),
        matrix::forms(),
        memory::forms(),
        together::forms(),
    ] {
        run.extend(forms);
    }
    let known: BTreeSet<_> = known_forms().collect();
    let stale: Vec<_> = ELSEWHERE.iter().filter(|form| !known.contains(**form)).collect();
    assert!(stale.is_empty(), "no such form: {stale:?}");
    let forgotten: Vec<_> = known_forms().filter(|form| !run.contains(*form)).collect();
    assert_eq!(forgotten, [""; 0]);
}
