//! Cross-entropy of class labels.

use super::{
    matmul::count,
    softmax::{Row, cost},
};
use crate::Wanted;

/// The mean over rows of `ln Σ exp(x) − x[label]`: NaN for no rows.
///
/// A row is in doubt as a row of `log_softmax` is; the mean adds as many roundings as there are rows.
pub fn cross_entropy(logits: &[f64], labels: &[usize], classes: usize) -> Wanted {
    let (mut sum, mut mass) = (0.0, 0.0);
    let n = count(labels.len());
    for (x, &label) in logits.chunks(classes.max(1)).zip(labels) {
        let Row { below, log, doubt, .. } = Row::of(x);
        let loss = log - below[label];
        sum += loss;
        mass += 2.0 * below[label].abs() + 4.0 * log.abs() + doubt + (n + 4.0) * loss.abs();
    }
    Wanted::near(sum / n, mass / n)
}

/// `(softmax(x) − onehot(label))·grad / N`: a share as softmax has it, a difference, a factor of one rounding, a product.
pub fn backward(grad: f64, logits: &[f64], labels: &[usize], classes: usize) -> Vec<Wanted> {
    let factor = grad / count(labels.len());
    let row = |(x, &label): (&[f64], &usize)| {
        let Row { shares, below, doubt, .. } = Row::of(x);
        let one = move |(class, (share, below)): (usize, (f64, f64))| {
            let rest = share - f64::from(u8::from(class == label));
            let mass = share * (cost(below) + doubt + 3.0) + 4.0 * rest.abs();
            Wanted::near(rest * factor, mass * factor.abs())
        };
        shares.into_iter().zip(below).enumerate().map(one)
    };
    logits.chunks(classes.max(1)).zip(labels).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_what_central_differences_say() {
        let (x, labels, h) = ([0.5, -1.0, 2.0, 0.0, 1.0, -0.5], [2, 0], 1e-6);
        let analytic = backward(3.0, &x, &labels, 3);
        for i in 0..6 {
            let (mut up, mut down) = (x, x);
            up[i] += h;
            down[i] -= h;
            let loss = |x: &[f64]| 3.0 * cross_entropy(x, &labels, 3).value;
            let difference = (loss(&up) - loss(&down)) / (2.0 * h);
            assert!((difference - analytic[i].value).abs() <= 1e-8, "{i}");
        }
    }
}
