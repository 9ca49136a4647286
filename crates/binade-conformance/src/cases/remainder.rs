//! Masters in two halves: every bit is kept, and ties are rounded away from zero.
//!
//! The oracle keeps masters as `f32` values, since none of their bits is lost. The upper half is the parameter, to nearest
//! with ties away from zero.

use super::cast::neighbours;
use super::prelude::*;
use super::stores::{self, Trial};
use super::training::narrow;
use binade_core::DType::{self, BF16, F32};
use binade_master_weights::MasterStore;

const STORE: MasterStore = MasterStore::Remainder;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    stores::add_cases(cases, STORE, BF16, oracle);
    let mut add = |sentence: &str, param: Vec<f64>, updates: Vec<Vec<f64>>| {
        stores::add(cases, (STORE, BF16, oracle), sentence, param, updates);
    };
    let (params, moves) = halfway(BF16);
    let moves = moves.iter().map(|x| -x).collect();
    add("a_master_beside_a_tie_goes_to_the_nearer_parameter", params, vec![moves]);
    let half = 2.0_f64.powi(-8);
    let odd = 1.0 + 2.0 * half;
    let ones = vec![1.0, -1.0, odd, -odd];
    let away = vec![-half, half, -half, half];
    add("a_tie_goes_away_from_zero", ones.clone(), vec![away.clone()]);
    let back = away.iter().map(|x| -x).collect();
    add("a_tie_comes_back_from_its_remainder", ones, vec![away, back]);
    let [largest, beyond] = [0x7f7f_0000, 0x7f7f_8000].map(f32::from_bits).map(f64::from);
    let out = vec![largest - beyond, beyond - largest];
    let home = out.iter().map(|x| -x).collect();
    let top = vec![largest, -largest];
    add("half_a_unit_beyond_the_largest_is_infinite", top.clone(), vec![out.clone()]);
    add("a_master_beyond_the_largest_comes_back", top, vec![out, home]);
    let tiny = f64::from(f32::from_bits(1));
    let subnormal = vec![f64::from(f32::from_bits(0x0001_0000)), 0.0, -0.0];
    add("subnormal_masters_are_kept", subnormal, vec![vec![tiny; 3]; 3]);
    cases.add(F32, "f32_is_its_own_master", |s: &S, check| {
        let (param, updates) = stores::drawn(F32, 33, 3);
        Trial::single(STORE, param, updates).run(s, check, super::kahan::oracle)
    });
}

// The oracle.

/// Returns `bf16` parameters after each of `updates` is subtracted from their masters.
fn oracle(_: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let mut masters = values(param);
    for update in updates {
        for (master, update) in masters.iter_mut().zip(update) {
            *master = f64::from(narrow(*master - update));
        }
    }
    masters.into_iter().map(parameter).collect()
}

/// The nearest `bf16`; of two that are equally near, the one that is farther from zero.
fn parameter(master: f64) -> f64 {
    if !master.is_finite() {
        return master;
    }
    let [near, far] = neighbours(master, DType::BF16);
    let chosen = if (far - master).abs() <= (master - near).abs() { far } else { near };
    // The value after the largest number is infinity.
    if chosen.abs() >= 2.0_f64.powi(128) { f64::INFINITY.copysign(master) } else { chosen }
}
