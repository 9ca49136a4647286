//! Unscaling: each gradient divided by the scale in `f32`, and what one pass finds on the way.

use super::cast::rounded;
use binade_core::DType;

/// Gradients as numbers by parameter, nothing for one that is missing.
pub type Grads<'a> = Vec<(&'a str, Option<Vec<f64>>)>;

/// What one pass finds, in the words of [`Finding`](binade_core::Finding).
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Parameter, index, scaled and unscaled value of the lowest offender.
    pub first: Option<(String, u64, f64, f64)>,
    /// Elements infinite before or after.
    pub infinities: u64,
    /// Elements NaN before or after.
    pub nans: u64,
    /// The largest finite |scaled gradient|.
    pub magnitude: f64,
    /// Parameters without a gradient.
    pub missing: Vec<String>,
}

/// One gradient, divided by `scale` and rounded once to `f32`.
pub fn element(scaled: f64, scale: f64) -> f64 {
    rounded(scaled / scale, DType::F32)
}

/// A set of named gradients, divided by `scale`.
pub fn unscale(grads: &[(&str, Option<Vec<f64>>)], scale: f64) -> (Vec<Option<Vec<f64>>>, Found) {
    let mut found = Found::default();
    let mut values = Vec::new();
    for (name, grad) in grads {
        if grad.is_none() {
            found.missing.push((*name).to_owned());
        }
        values.push(grad.as_ref().map(|grad| {
            let pairs = grad.iter().map(|&scaled| (scaled, element(scaled, scale)));
            pairs.enumerate().map(|(index, pair)| found.look(name, index as u64, pair)).collect()
        }));
    }
    (values, found)
}

impl Found {
    fn look(&mut self, name: &str, index: u64, (scaled, unscaled): (f64, f64)) -> f64 {
        if scaled.is_finite() && scaled.abs() > self.magnitude {
            self.magnitude = scaled.abs();
        }
        if scaled.is_nan() || unscaled.is_nan() {
            self.nans += 1;
        } else if scaled.is_infinite() || unscaled.is_infinite() {
            self.infinities += 1;
        } else {
            return unscaled;
        }
        if self.first.is_none() {
            self.first = Some((name.to_owned(), index, scaled, unscaled));
        }
        unscaled
    }
}
