//! Sum in `f64`.

use super::matmul::count;
use crate::Wanted;

/// The sum, with the mass n·Σ|x| that bounds the error of summing in `f32` in any order.
pub fn sum(values: &[f64]) -> Wanted {
    let mut wanted = Wanted::exactly(0.0);
    for x in values {
        wanted.value += x;
        wanted.mass += x.abs();
    }
    wanted.mass *= count(values.len());
    wanted
}
