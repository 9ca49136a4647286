//! Finding of one pass over a set of gradients, in host terms.

use std::sync::Arc;

/// First gradient that was not finite, before or after unscaling.
///
/// The first is the lowest: by parameter in the set's order, then by index as stored. It does not depend on the order of threads.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Overflow {
    /// Name of the parameter.
    pub parameter: Arc<str>,
    /// Index of the element, as stored.
    pub index: u64,
    /// Rank whose gradient it was, where several ranks train one model.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub rank: Option<u32>,
    /// Element as backward left it.
    #[cfg_attr(feature = "serde", serde(with = "crate::non_finite"))]
    pub scaled: f32,
    /// Element after unscaling.
    #[cfg_attr(feature = "serde", serde(with = "crate::non_finite"))]
    pub unscaled: f32,
}

impl Overflow {
    /// Returns `NaN`, or an infinity with its sign, for the value that was not finite.
    pub fn what(&self) -> &'static str {
        let value = if self.scaled.is_finite() { self.unscaled } else { self.scaled };
        match value {
            v if v.is_nan() => "NaN",
            v if v.is_sign_positive() => "+inf",
            _ => "-inf",
        }
    }
}

/// Result of checking gradients: the first overflow, the largest finite magnitude, and the trainable parameters without a gradient.
///
/// A host device uses it as its `Found`. A GPU keeps the numbers in a buffer and returns this when read.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FoundInf {
    /// First overflow in set order, if any.
    pub overflow: Option<Overflow>,
    /// Number of elements infinite before or after unscaling.
    pub infinities: u64,
    /// Number of elements that were NaN before or after unscaling.
    pub nans: u64,
    /// Largest finite |scaled gradient|, to compare with the format's largest value.
    pub magnitude: f32,
    /// Norm of all gradients together before clipping, if clipping measured it.
    #[cfg_attr(feature = "serde", serde(default, with = "crate::non_finite::option"))]
    pub norm: Option<f32>,
    /// True if the scale had diverged before this pass; its step is then always skipped.
    pub halted: bool,
    /// Names of trainable parameters without a gradient.
    pub missing: Vec<Arc<str>>,
}

/// Rule that combines the overflows of two findings. A halted finding halts the other under either rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MergeRule {
    /// Overflow where either overflowed.
    Any,
    /// Overflow only where both overflowed.
    All,
}

impl FoundInf {
    /// Name of the norm of all gradients, in place of a parameter's, where that norm is not finite.
    pub const NORM: &str = "norm of all gradients";

    /// Returns true if a step that depends on this must be skipped.
    pub fn is_raised(&self) -> bool {
        self.overflow.is_some() || self.halted
    }

    /// Checks one gradient element, in set order. Only the first non-finite one is kept.
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
            rank: None,
            scaled,
            unscaled,
        });
    }

    /// Merges another finding into this one: the oracle of a device's `merge`. The norm and the missing names stay.
    pub fn merge(&mut self, from: &Self, join: MergeRule) {
        let overflowed = match join {
            MergeRule::Any => self.overflow.is_some() || from.overflow.is_some(),
            MergeRule::All => self.overflow.is_some() && from.overflow.is_some(),
        };
        let first = self.overflow.take().or_else(|| from.overflow.clone());
        self.overflow = first.filter(|_| overflowed);
        self.halted |= from.halted;
        self.infinities += from.infinities;
        self.nans += from.nans;
        self.magnitude = self.magnitude.max(from.magnitude);
    }

    /// Records the norm that clipping measured, and raises the finding as [`NORM`](Self::NORM) if it is not finite as `f32`:
    /// the oracle of a device's clipping kernel.
    pub fn record_norm(&mut self, norm: f64) {
        self.norm = Some(self.check_norm(Self::NORM, norm));
    }

    /// Returns `norm` as `f32`. A norm that is not finite raises the finding under `name`, unless it is already raised, and counts no element.
    #[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
    pub fn check_norm(&mut self, name: &str, norm: f64) -> f32 {
        let norm = norm as f32;
        if !norm.is_finite() {
            let (parameter, index) = (name.into(), 0);
            let overflow =
                || Overflow { parameter, index, rank: None, scaled: norm, unscaled: norm };
            self.overflow.get_or_insert_with(overflow);
        }
        norm
    }
}

/// Returns the factor that brings gradients of this norm to a norm of at most `max`: `max / norm`, or 1.
///
/// torch divides by `norm + 1e-6`, and so shrinks gradients that are within the limit; this does not.
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
pub fn clip_factor(norm: f64, max: f32) -> f32 {
    if norm > f64::from(max) { (f64::from(max) / norm) as f32 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;

    #[test]
    fn an_overflow_is_named_by_the_value_that_was_not_finite_first() {
        for (scaled, unscaled, name) in [
            (NAN, NAN, "NaN"),
            (INF, INF, "+inf"),
            (-INF, -INF, "-inf"),
            // An infinity times 0 is NaN: the value as backward left it is named.
            (INF, NAN, "+inf"),
            (1.0, NAN, "NaN"),
            (1.0, INF, "+inf"),
            (-1.0, -INF, "-inf"),
        ] {
            let overflow =
                Overflow { parameter: "w".into(), index: 0, rank: None, scaled, unscaled };
            assert_eq!(overflow.what(), name, "{overflow:?}");
        }
    }

    #[test]
    fn infinities_and_nans_are_counted_on_either_side_of_unscaling_and_the_first_is_kept() {
        let mut finding = FoundInf::default();
        let w = Arc::from("w");
        for (index, (scaled, unscaled)) in
            [(-3.0, -1.5), (2.0, INF), (INF, INF), (-INF, -0.0), (NAN, NAN), (1.0, NAN), (INF, NAN)]
                .into_iter()
                .enumerate()
        {
            assert_eq!(finding.is_raised(), index > 1, "before {index}");
            finding.check(&w, index as u64, scaled, unscaled);
        }
        assert_eq!((finding.infinities, finding.nans, finding.magnitude), (3, 3, 3.0));
        let first = finding.overflow.map(|o| (o.parameter, o.index, o.scaled, o.unscaled));
        assert_eq!(first, Some((w, 1, 2.0, INF)));
    }

    #[test]
    fn an_infinite_norm_within_an_infinite_limit_leaves_gradients_alone() {
        assert_eq!(clip_factor(f64::INFINITY, f32::INFINITY), 1.0);
        assert_eq!([clip_factor(2.0, 2.0), clip_factor(4.0, 2.0)], [1.0, 0.5]);
    }
}
