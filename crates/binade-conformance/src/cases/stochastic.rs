//! Parameters rounded by chance: by the words that their names give, and no others.

use super::stores::{self, Trial, drawn};
use crate::oracle::stochastic;
use crate::{Cases, Operation::Stochastic, Stored, Subject};
use binade_core::DType::{BF16, F16};
use binade_master_weights::MasterStore;

const SEED: u64 = 0x0123_4567_89ab_cdef;

fn by_seed(seed: u64, place: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let start: Vec<f64> = param.values().collect();
    stochastic::train(&start, updates, param.dtype, (seed, place))
}

fn oracle(place: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    by_seed(SEED, place, param, updates)
}

pub(super) fn add<S: Subject>(cases: &mut Cases<S>) {
    for dtype in [BF16, F16] {
        stores::add(cases, Stochastic, MasterStore::Stochastic { seed: SEED }, dtype, oracle);
        cases.add(
            Stochastic,
            dtype,
            "parameters_of_a_set_have_words_of_their_own",
            move |s: &S, check| {
                let (param, updates) = drawn(dtype, 65, 3);
                let one =
                    Trial::single(MasterStore::Stochastic { seed: SEED }, param.clone(), updates);
                let twice = |update: Vec<Vec<f64>>| [update.clone(), update].concat();
                let updates = one.updates.into_iter().map(|update| update.map(twice)).collect();
                let params = vec![("a", param.clone()), ("b", param)];
                Trial { params, updates, ..one }.run(s, check, oracle)
            },
        );
        cases.add(Stochastic, dtype, "both_halves_of_the_seed_count", move |s: &S, check| {
            let (param, updates) = drawn(dtype, 65, 3);
            let of = |seed| {
                Trial::single(MasterStore::Stochastic { seed }, param.clone(), updates.clone())
            };
            of(0).run(s, check, |place, param, updates| by_seed(0, place, param, updates))?;
            of(7).run(s, check, |place, param, updates| by_seed(7, place, param, updates))?;
            of(7 << 32)
                .run(s, check, |place, param, updates| by_seed(7 << 32, place, param, updates))
        });
    }
}
