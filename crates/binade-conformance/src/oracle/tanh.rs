//! The hyperbolic tangent.

use crate::Wanted;

/// `tanh(x)`: 3 ulps, of which a device's own function is allowed 2, make 6·2^-24 of the value.
pub fn tanh(x: &[f64]) -> Vec<Wanted> {
    x.iter().map(|x| x.tanh()).map(|y| Wanted::near(y, 6.0 * y.abs())).collect()
}

/// `grad·(1 − y²)` from the result `y`: the square, the difference and the product are each rounded once.
pub fn backward(grad: &[f64], y: &[f64]) -> Vec<Wanted> {
    let one = |(&g, &y): (&f64, &f64)| {
        let slope = 1.0 - y * y;
        Wanted::near(g * slope, g.abs() * (y * y + 2.0 * slope.abs()))
    };
    grad.iter().zip(y).map(one).collect()
}
