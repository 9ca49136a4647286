//! Masters in `f16` with an exponent a tensor: chosen again after every step, from all that it made.

use super::stores::{self, Trial};
use crate::oracle::scaled_f16;
use crate::{Cases, Operation::ScaledF16, Stored, Subject};
use binade_core::DType::{BF16, F16};
use binade_master_weights::MasterStore;

const STORE: MasterStore = MasterStore::ScaledF16;

fn oracle(_: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let start: Vec<f64> = param.values().collect();
    scaled_f16::train(&start, updates, param.dtype)
}

pub(super) fn add<S: Subject>(cases: &mut Cases<S>) {
    for dtype in [BF16, F16] {
        stores::add(cases, ScaledF16, STORE, dtype, oracle);
        let mut add = |sentence: &str, param: Vec<f64>, updates: Vec<Vec<f64>>| {
            let param = Stored::vector(dtype, param);
            cases.add(ScaledF16, dtype, sentence, move |s: &S, check| {
                Trial::single(STORE, param.clone(), updates.clone()).run(s, check, oracle)
            });
        };
        let small = 2.0_f64.powi(-20);
        let ramp: Vec<f64> = (1..33).map(|i| f64::from(i) * small).collect();
        let nudge = vec![2.0_f64.powi(-29); 32];
        add("a_tensor_of_small_values_has_all_of_f16", ramp.clone(), vec![nudge.clone(); 5]);
        let mut outlier = nudge.clone();
        outlier[7] = -3.0e4;
        let mut back = nudge;
        back[7] = 3.0e4;
        add(
            "one_outlier_takes_bits_and_they_do_not_come_back",
            ramp,
            vec![outlier, back.clone(), back],
        );
        add("zeros_have_an_exponent_too", vec![0.0, -0.0], vec![vec![0.0, 0.0], vec![1.0, -small]]);
    }
}
