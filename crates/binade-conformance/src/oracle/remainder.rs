//! Masters of which the upper half is the parameter, to nearest with ties away from zero, and the lower is kept beside it:
//! nothing of them is lost, so that they are `f32` values.

use super::cast::neighbours;
use super::train::narrow;
use binade_core::DType;

/// Parameters of `bf16` after each of `updates` was subtracted from their masters.
pub fn train(start: &[f64], updates: &[Vec<f64>]) -> Vec<f64> {
    let mut masters = start.to_vec();
    for update in updates {
        for (master, update) in masters.iter_mut().zip(update) {
            *master = f64::from(narrow(*master - update));
        }
    }
    masters.into_iter().map(parameter).collect()
}

/// The nearest `bf16`; of two that are equally near, the one that is farther from zero.
pub fn parameter(master: f64) -> f64 {
    if !master.is_finite() {
        return master;
    }
    let [near, far] = neighbours(master, DType::BF16);
    let chosen = if (far - master).abs() <= (master - near).abs() { far } else { near };
    // What would come after the largest number is infinity.
    if chosen.abs() >= 2.0_f64.powi(128) { f64::INFINITY.copysign(master) } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_away_from_zero_and_half_a_unit_beyond_the_largest_is_infinity() {
        assert_eq!(parameter(1.0 + 2.0_f64.powi(-8)), 1.0 + 2.0_f64.powi(-7));
        assert_eq!(parameter(-1.0 - 2.0_f64.powi(-8)), -1.0 - 2.0_f64.powi(-7));
        assert_eq!(parameter(1.0 + 2.0_f64.powi(-9)), 1.0);
        let largest = f64::from(f32::from_bits(0x7f7f_7fff));
        assert!(parameter(largest).is_finite());
        assert_eq!(parameter(f64::from(f32::from_bits(0x7f7f_8000))), f64::INFINITY);
        assert_eq!(parameter(-f64::from(f32::MAX)), f64::NEG_INFINITY);
    }
}
