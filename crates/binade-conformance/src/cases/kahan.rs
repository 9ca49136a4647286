//! Compensated parameters: later steps get back what rounding cut off.
//!
//! The oracle keeps the part that rounding cut off in a compensation of the parameter's own type, which rounds it too (Kahan,
//! Communications of the ACM 8(1), 1965).

use super::cast::rounded;
use super::prelude::*;
use super::stores;
use super::training::narrow;
use binade_core::DType::{BF16, F16};
use binade_master_weights::MasterStore;

const STORE: MasterStore = MasterStore::Kahan;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in [BF16, F16] {
        stores::add_cases(cases, STORE, dtype, oracle);
        let mut add = |sentence: &str, param: Vec<f64>, updates: Vec<Vec<f64>>| {
            stores::add(cases, (STORE, dtype, oracle), sentence, param, updates);
        };
        let (params, moves) = halfway(dtype);
        let moves = moves.iter().map(|x| -x).collect();
        add("a_parameter_halfway_between_two_becomes_the_even_one", params, vec![moves]);
        let (params, updates) = halves(unit(dtype));
        add("a_compensation_halfway_between_two_becomes_the_even_one", params, updates);
        let half = if dtype == BF16 { 2.0_f64.powi(-8) } else { 2.0_f64.powi(-11) };
        let ties = vec![-half, half, -half * 0.75];
        add("ties_go_to_even_and_what_is_cut_off_is_kept", vec![1.0, -1.0, 1.0], vec![ties; 5]);
        let tiny = vec![-half / 256.0, half / 256.0];
        add("the_compensation_is_itself_rounded", vec![1.0, -1.0], vec![tiny; 7]);
        let largest = if dtype == BF16 { f64::from(f32::from_bits(0x7f7f_0000)) } else { 65504.0 };
        let out = vec![-largest / 2.0, largest / 2.0];
        let home = vec![largest / 2.0, -largest / 2.0];
        add(
            "what_overflows_stays_infinite",
            vec![largest, -largest],
            vec![out, home.clone(), home],
        );
    }
}

/// Returns parameters and two updates, in every lane of a vector. The first update leaves a compensation halfway between an even number and an odd
/// one, or the reverse. The second takes the parameter to a value that shows it: halfway, or the next `f32` after that.
fn halves(unit: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (small, next) = (unit / 4.0, f64::from(f32::EPSILON));
    let runs = [
        (small * (1.0 + unit / 2.0), unit / 2.0 - small),
        (small * (1.0 + 1.5 * unit), unit / 2.0 - small * (1.0 + 2.0 * unit) + next),
    ];
    let signed = [1.0, -1.0].map(|sign| runs.map(|(a, b)| [(sign, -sign * a, -sign * b); 8]));
    let each: Vec<(f64, f64, f64)> = signed.into_iter().flatten().flatten().collect();
    let first = each.iter().map(|(_, update, _)| *update).collect();
    let second = each.iter().map(|(_, _, update)| *update).collect();
    (each.iter().map(|(param, ..)| *param).collect(), vec![first, second])
}

// The oracle.

/// Returns the parameters after each of `updates` is subtracted from their compensated values.
pub(super) fn oracle(_: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let dtype = param.dtype;
    let mut parameters = values(param);
    let mut compensations = vec![0.0; param.len()];
    for update in updates {
        for ((p, c), u) in parameters.iter_mut().zip(&mut compensations).zip(update) {
            let value = f64::from(narrow(*p + *c));
            let stepped = f64::from(narrow(value - u));
            *p = rounded(stepped, dtype);
            *c = if p.is_finite() { rounded(f64::from(narrow(stepped - *p)), dtype) } else { 0.0 };
        }
    }
    parameters
}
