//! Masters in `f16`, times the power of two that brings the tensor's largest finite one to within 2^14 and 2^15.

use super::cast::rounded;
use super::train::narrow;
use binade_core::DType;

/// Parameters of `dtype` after each of `updates` was subtracted from their masters.
pub fn train(start: &[f64], updates: &[Vec<f64>], dtype: DType) -> Vec<f64> {
    let mut masters = packed(start.to_vec());
    let mut parameters = start.to_vec();
    for update in updates {
        let pairs = masters.iter().zip(update);
        let stepped: Vec<f64> = pairs.map(|(m, u)| f64::from(narrow(m - u))).collect();
        parameters = stepped.iter().map(|m| rounded(*m, dtype)).collect();
        masters = packed(stepped);
    }
    parameters
}

/// What is left of `values` in `f16`.
fn packed(values: Vec<f64>) -> Vec<f64> {
    let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(0.0, f64::max);
    // Found by trying, so that no logarithm is near the edge of a binade.
    let fits = |exponent: &i32| largest * 2.0_f64.powi(*exponent) >= 2.0_f64.powi(14);
    let exponent = if largest == 0.0 { 0 } else { (-113..125).find(fits).unwrap_or(125) };
    let power = 2.0_f64.powi(exponent);
    values.into_iter().map(|x| rounded(x * power, DType::F16) / power).collect()
}
