//! What one pass over a set of gradients found, in host terms.

use std::sync::Arc;

/// The first gradient that was not finite, before or after unscaling.
///
/// First means lowest: by parameter in the set's order, then by index as stored, whatever order threads worked in.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Overflow {
    /// Whose gradient it is.
    pub parameter: Arc<str>,
    /// Which element, counted as stored.
    pub index: u64,
    /// The element as backward left it.
    #[cfg_attr(feature = "serde", serde(with = "crate::non_finite"))]
    pub scaled: f32,
    /// The element after unscaling.
    #[cfg_attr(feature = "serde", serde(with = "crate::non_finite"))]
    pub unscaled: f32,
}

impl Overflow {
    /// `NaN`, or an infinity with its sign, of the value that gave it away.
    pub fn what(&self) -> &'static str {
        let value = if self.scaled.is_finite() { self.unscaled } else { self.scaled };
        match value {
            v if v.is_nan() => "NaN",
            v if v > 0.0 => "+inf",
            _ => "-inf",
        }
    }
}

/// The result of one pass: what overflowed, how large the rest was, which trainable parameters had no gradient.
///
/// A host device uses it as its `Found`; a GPU keeps the numbers in a buffer and gives this when read.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// The first overflow in set order, if any.
    pub overflow: Option<Overflow>,
    /// Elements infinite before or after unscaling.
    pub infinities: u64,
    /// Elements that were NaN before or after unscaling.
    pub nans: u64,
    /// The largest finite |scaled gradient|: how much room was left below the format's largest value.
    pub magnitude: f32,
    /// The norm of all gradients together before clipping, where clipping measured it.
    #[cfg_attr(feature = "serde", serde(default, with = "crate::non_finite::option"))]
    pub norm: Option<f32>,
    /// The scale had diverged before this pass, so that its step is skipped whatever it found.
    pub halted: bool,
    /// Trainable parameters without a gradient.
    pub missing: Vec<Arc<str>>,
}

impl Finding {
    /// Whether a step that depends on this must be skipped.
    pub fn is_raised(&self) -> bool {
        self.overflow.is_some() || self.halted
    }

    /// Looks at one gradient element, in set order; only the first that is not finite is kept.
    pub fn check(&mut self, parameter: &Arc<str>, index: u64, scaled: f32, unscaled: f32) {
        if scaled.is_finite() {
            self.magnitude = self.magnitude.max(scaled.abs());
        }
        if scaled.is_finite() && unscaled.is_finite() {
            return;
        }
        if scaled.is_nan() || unscaled.is_nan() {
            self.nans += 1;
        } else {
            self.infinities += 1;
        }
        self.overflow.get_or_insert_with(|| Overflow {
            parameter: parameter.clone(),
            index,
            scaled,
            unscaled,
        });
    }
}
