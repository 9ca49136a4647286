//! Parameters without masters, rounded after each step by the words of (seed, the parameter's place, steps applied before,
//! index).

use super::cast::value;
use super::stochastic_cast::cast;
use super::train::narrow;
use binade_core::{DType, stochastic::Key};

/// Parameters of `dtype` after each of `updates` was subtracted: those of the tensor at `place` in its set.
pub fn train(
    start: &[f64],
    updates: &[Vec<f64>],
    dtype: DType,
    (seed, place): (u64, u32),
) -> Vec<f64> {
    let mut parameters = start.to_vec();
    for (step, update) in (0..).zip(updates) {
        let stepped = parameters.iter().zip(update).map(|(p, u)| f64::from(narrow(p - u)));
        let codes = cast(stepped, dtype, Key { seed, parameter: place, step });
        parameters = codes.into_iter().map(|code| value(code, dtype)).collect();
    }
    parameters
}
