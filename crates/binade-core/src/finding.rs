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
            v if v.is_sign_positive() => "+inf",
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
            let overflow = Overflow { parameter: "w".into(), index: 0, scaled, unscaled };
            assert_eq!(overflow.what(), name, "{overflow:?}");
        }
    }

    #[test]
    fn infinities_and_nans_are_counted_on_either_side_of_unscaling_and_the_first_is_kept() {
        let mut finding = Finding::default();
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
    fn a_diverged_scale_raises_a_finding_without_an_overflow() {
        assert!(!Finding::default().is_raised());
        assert!(Finding { halted: true, ..Finding::default() }.is_raised());
    }
}
