//! Mean squared error.

use super::mean::mean;
use crate::{Wanted, oracle::matmul::count};

/// The mean of `(x − y)²`. The mass is the mean's, and 4·2^-24 of each term: a difference, squared, is rounded three times.
pub fn mse_loss(x: &[f64], y: &[f64]) -> Wanted {
    let squares: Vec<f64> = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).collect();
    let Wanted { value, mass, .. } = mean(&squares);
    Wanted::near(value, mass + 4.0 * value)
}

/// `±2·(x − y)·grad / count`: a difference, a factor of two roundings and two products.
pub fn backward(grad: f64, x: &[f64], y: &[f64]) -> [Vec<Wanted>; 2] {
    let n = count(x.len());
    let towards = |x: &[f64], y: &[f64]| {
        let values = x.iter().zip(y).map(|(x, y)| 2.0 * (x - y) * grad / n);
        values.map(|value| Wanted::near(value, 6.0 * value.abs())).collect()
    };
    [towards(x, y), towards(y, x)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_what_central_differences_say() {
        let (x, y, h) = ([0.5, -1.0, 2.0], [1.0, 1.5, -0.25], 1e-6);
        let [dx, dy] = backward(3.0, &x, &y);
        for i in 0..3 {
            let moved = |by: f64| {
                let mut x = x;
                x[i] += by;
                3.0 * mse_loss(&x, &y).value
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((difference - dx[i].value).abs() <= 1e-8, "{i}");
            assert!((dx[i].value + dy[i].value).abs() <= 1e-15, "{i}");
        }
    }
}
