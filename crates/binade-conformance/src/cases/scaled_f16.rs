//! Masters in `f16` with one exponent for each tensor, chosen again after every step from all of the tensor's new values.
//!
//! The oracle multiplies masters in `f16` by the power of two that brings the tensor's largest finite master between 2^14 and 2^15.

use super::cast::rounded;
use super::prelude::*;
use super::stores::{self, Trial};
use super::training::narrow;
use binade_core::DType::{self, BF16, F16};
use binade_master_weights::MasterStore;

const STORE: MasterStore = MasterStore::ScaledF16;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in [BF16, F16] {
        stores::add_cases(cases, STORE, dtype, oracle);
        cases.add(dtype, "the_last_element_may_be_the_largest", move |s: &S, check| {
            (1..=9).chain(1025..=1032).try_for_each(|len| {
                let mut param = vec![2.0_f64.powi(-9); len];
                param[len - 1] = 3.0;
                let updates = vec![vec![2.0_f64.powi(-20); len]];
                Trial::single(STORE, Stored::vector(dtype, param), updates).run(s, check, oracle)
            })
        });
        let mut add = |sentence: &str, param: Vec<f64>, updates: Vec<Vec<f64>>| {
            stores::add(cases, (STORE, dtype, oracle), sentence, param, updates);
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
        let sentence = "the_largest_is_found_in_each_place_and_in_no_other_tensor";
        cases.add(dtype, sentence, move |s: &S, check| {
            let mut single = |values: Vec<f64>| {
                let updates = vec![vec![small / 512.0; values.len()]; 2];
                let param = Stored::vector(dtype, values);
                Trial::single(STORE, param, updates).run(s, check, oracle)
            };
            for length in 1..10 {
                // The second tensor must not be measured by values that the first has left in memory.
                single(vec![3.0e4; 64])?;
                single(vec![small; length])?;
                for place in 0..length {
                    let mut values = vec![small; length];
                    values[place] = 3.0e4;
                    single(values)?;
                }
            }
            Ok(())
        });
    }
}

// The oracle.

/// Returns the parameters after each of `updates` is subtracted from their masters.
fn oracle(_: u32, param: &Stored, updates: &[Vec<f64>]) -> Vec<f64> {
    let mut masters = packed(values(param));
    let mut parameters = values(param);
    for update in updates {
        let pairs = masters.iter().zip(update);
        let stepped: Vec<f64> = pairs.map(|(m, u)| f64::from(narrow(m - u))).collect();
        parameters = stepped.iter().map(|m| rounded(*m, param.dtype)).collect();
        masters = packed(stepped);
    }
    parameters
}

/// Returns `values` rounded to `f16` with one exponent for all of them.
fn packed(values: Vec<f64>) -> Vec<f64> {
    let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(0.0, f64::max);
    // Found by trial, since a logarithm may be wrong near the edge of a binade.
    let fits = |exponent: &i32| largest * 2.0_f64.powi(*exponent) >= 2.0_f64.powi(14);
    let exponent = if largest == 0.0 { 0 } else { (-113..125).find(fits).unwrap_or(125) };
    let power = 2.0_f64.powi(exponent);
    values.into_iter().map(|x| rounded(x * power, DType::F16) / power).collect()
}
