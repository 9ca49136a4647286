//! Parameters with a compensation of their own type: what rounding cut off is kept, itself rounded (Kahan,
//! Communications of the ACM 8(1), 1965).

use super::cast::rounded;
use super::train::narrow;
use binade_core::DType;

/// Parameters of `dtype` after each of `updates` was subtracted from their compensated values.
pub fn train(start: &[f64], updates: &[Vec<f64>], dtype: DType) -> Vec<f64> {
    let mut parameters = start.to_vec();
    let mut compensations = vec![0.0; start.len()];
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
