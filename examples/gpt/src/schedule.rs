//! Learning rate by step: a warm-up, then a cosine.

use std::f64::consts::PI;

/// Share of the highest rate that is left at the end.
const LEAST: f64 = 0.1;

/// Returns the learning rate of a step, counted from 0: a tenth of the steps rise to `peak` in a line, the others come down to
/// a tenth of it by half a cosine (Loshchilov, Hutter 2017, arXiv 1608.03983).
pub(crate) fn rate(peak: f64, step: u32, steps: u32) -> f64 {
    let warm_up = steps / 10;
    if step < warm_up {
        return peak * f64::from(step + 1) / f64::from(warm_up);
    }
    let done = f64::from(step - warm_up) / f64::from((steps - warm_up).max(1));
    peak * (LEAST + (1.0 - LEAST) * 0.5 * (1.0 + (PI * done.min(1.0)).cos()))
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn the_rate_rises_to_its_peak_and_comes_down_to_a_tenth() {
        let rates: Vec<f64> = (0..100).map(|step| rate(1.0, step, 100)).collect();
        assert!(rates[..10].is_sorted() && rates[10..].iter().rev().is_sorted());
        assert_eq!((rates[0], rates[10], rates[55]), (0.1, 1.0, 0.55));
        assert!((0.1..0.101).contains(&rates[99]), "{}", rates[99]);
        assert_eq!(rate(1.0, 0, 1), 1.0);
    }
}
