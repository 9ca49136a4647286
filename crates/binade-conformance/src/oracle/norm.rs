//! The norm of all gradients together, in `f64`.

use binade_grad_scaler::Norm;

/// The norm of unscaled gradients: NaN where one is NaN, else infinite where one is infinite.
pub fn norm(which: Norm, grads: &[Option<Vec<f64>>]) -> f64 {
    let mut squares = 0.0;
    let mut largest = 0.0;
    let mut has_nan = false;
    for x in grads.iter().flatten().flatten() {
        squares += x * x;
        largest = f64::max(largest, x.abs());
        has_nan |= x.is_nan();
    }
    match which {
        _ if has_nan => f64::NAN,
        Norm::L2 => squares.sqrt(),
        Norm::Infinity => largest,
    }
}
