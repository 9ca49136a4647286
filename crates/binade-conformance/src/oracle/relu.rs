//! The rectified linear unit: comparisons and no arithmetic.

/// `max(x, 0)`, where NaN stays NaN and either zero gives +0.
pub fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x.is_nan() || x > 0.0 { x } else { 0.0 }).collect()
}

/// `grad` where the result `y` is positive or NaN, +0 elsewhere.
pub fn backward(grad: &[f64], y: &[f64]) -> Vec<f64> {
    let passes = |y: f64| y.is_nan() || y > 0.0;
    grad.iter().zip(y).map(|(&g, &y)| if passes(y) { g } else { 0.0 }).collect()
}
