//! Mean in `f64`.

use super::{matmul::count, sum::sum};
use crate::Wanted;

/// The sum over the count: NaN for no values. The mass is the sum's, over the count too, and leaves room for the
/// roundings of the division.
pub fn mean(values: &[f64]) -> Wanted {
    let total = sum(values);
    let n = count(values.len());
    let value = total.value / n;
    Wanted { mass: total.mass / n + 4.0 * value.abs(), ..Wanted::exactly(value) }
}
