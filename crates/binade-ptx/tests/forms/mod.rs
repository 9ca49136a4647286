//! Meaning of every form at the edges, against a loop on the host that is written another way.

mod arithmetic;
mod bits;
mod compute;
mod convert;
mod matrix;
mod memory;
mod together;

use std::collections::BTreeSet;

use crate::support::{FIXTURES, fixture};
use binade_ptx::{Module, known_forms};

/// Forms that a test of its own runs, in this folder, in `meaning.rs` or in `strict.rs`, or whose result cannot be wrong.
const ELSEWHERE: &str = "mov.b16 mov.b32 mov.b64 mov.f64 mov.pred mov.u64 trap exit \
    match.any.sync.b32 bar.warp.sync membar.gl shfl.sync.bfly.b32 cp.async.ca.shared.global";

/// Returns the check of the form's family, which derives operands and results from the form's name.
fn check(form: &str) -> Option<fn(&str)> {
    let (name, kind) = (form.split('.').next()?, form.rsplit('.').next()?);
    let is_move = ["mov", "cvta"].contains(&name);
    Some(match name {
        "and" | "or" | "xor" | "not" | "shl" | "shr" | "popc" | "clz" | "bfi" => bits::check,
        "setp" if kind.starts_with('f') => bits::check_floats,
        "setp" => bits::check_integers,
        "selp" => bits::check_selection,
        "cvt" => convert::check,
        "ld" => memory::check_load,
        "st" => memory::check_store,
        "atom" => memory::check_atomic,
        _ if arithmetic::Type::named(kind).is_some() && !is_move => arithmetic::check,
        _ if kind.starts_with('f') && !is_move => arithmetic::check_floats,
        _ => return None,
    })
}

#[test]
fn every_form_of_the_table_has_the_meaning_that_the_isa_gives_it() {
    let fixtures: Vec<_> = FIXTURES.iter().map(|(name, _)| fixture(name)).collect();
    let named = || ELSEWHERE.split_whitespace().chain(matrix::forms());
    let elsewhere: BTreeSet<_> = fixtures.iter().flat_map(Module::forms).chain(named()).collect();
    let known: BTreeSet<_> = known_forms().collect();
    let forgotten = known.iter().filter(|form| {
        let check = check(form).filter(|_| named().all(|other| other != **form));
        check.inspect(|check| check(form)).is_none() && !elsewhere.contains(**form)
    });
    assert_eq!(forgotten.collect::<Vec<_>>(), Vec::<&&str>::new());
    let stale: Vec<_> = named().filter(|form| !known.contains(form)).collect();
    assert!(stale.is_empty(), "no such form: {stale:?}");
}
