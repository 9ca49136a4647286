//! Stochastically rounded parameters: by the random words of their own keys, and no others.
//!
//! The oracle rounds parameters without masters after each step, by the words of (seed, the parameter's place, steps applied
//! before, index).

use super::cast::{rounded, value};
use super::prelude::*;
use super::stochastic_cast::cast;
use super::stores::{self, Trial, drawn};
use super::training::narrow;
use binade_core::{
    DType::{BF16, F16, F32},
    stochastic::Key,
};
use binade_master_weights::MasterStore;

const SEED: u64 = 0x0123_4567_89ab_cdef;

fn oracle(place: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    train(SEED, place, param, updates)
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in [BF16, F16] {
        stores::add_cases(cases, MasterStore::Stochastic { seed: SEED }, dtype, oracle);
        cases.add(dtype, "parameters_of_a_set_have_words_of_their_own", move |s: &S, check| {
            let (param, updates) = drawn(dtype, 65, 3);
            let one = Trial::single(MasterStore::Stochastic { seed: SEED }, param.clone(), updates);
            let twice = |update: Vec<Vec<f64>>| [update.clone(), update].concat();
            let updates = one.updates.into_iter().map(|update| update.map(twice)).collect();
            let params = vec![("a", param.clone()), ("b", param)];
            Trial { params, updates, ..one }.run(s, check, oracle)
        });
        if dtype == F16 && cases.arithmetic().keeps_subnormals {
            let sentence = "less_than_a_hundredth_of_the_smallest_number_comes_up_at_times";
            cases.add(dtype, sentence, move |s: &S, check| {
                let mut draw = Draw::new(1);
                let mut update = || rounded(draw.spread(-36.0, -32.0), F32);
                let updates = (0..2).map(|_| (0..4096).map(|_| update()).collect()).collect();
                let param = Stored::vector(dtype, vec![0.0; 4096]);
                let store = MasterStore::Stochastic { seed: SEED };
                Trial::single(store, param.clone(), updates).run(s, check, oracle)?;
                Trial::run_by_lion((store, param), (2.0_f64.powi(-34), 2), s, check, oracle)
            });
        }
        cases.add(dtype, "both_halves_of_the_seed_count", move |s: &S, check| {
            let (param, updates) = drawn(dtype, 65, 3);
            let of = |seed| {
                Trial::single(MasterStore::Stochastic { seed }, param.clone(), updates.clone())
            };
            of(0).run(s, check, |place, param, updates| train(0, place, param, updates))?;
            of(7).run(s, check, |place, param, updates| train(7, place, param, updates))?;
            of(7 << 32).run(s, check, |place, param, updates| train(7 << 32, place, param, updates))
        });
    }
}

// The oracle.

/// Returns the parameters after each of `updates` is subtracted, for the tensor at `place` in its set.
fn train(seed: u64, place: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let mut parameters = values(param);
    for (step, update) in (0..).zip(updates) {
        let stepped = parameters.iter().zip(update).map(|(p, u)| f64::from(narrow(p - u)));
        let codes = cast(stepped, param.dtype, Key { seed, parameter: place, step });
        parameters = codes.into_iter().map(|code| value(code, param.dtype)).collect();
    }
    parameters
}
