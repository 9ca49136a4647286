//! State of `paddle.amp.GradScaler.state_dict()`.

use super::{Exported, Imported, InterchangeError, numbers, rule};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance};

const LIBRARY: &str = "Paddle";

/// State that Paddle saves, under its names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct PaddleState {
    /// Scale; in the dictionary an array of one element.
    #[cfg_attr(feature = "serde", serde(with = "single"))]
    pub scale: f64,
    /// Factor by which the scale grows.
    pub incr_ratio: f64,
    /// Factor that multiplies the scale when it backs off.
    pub decr_ratio: f64,
    /// Good steps between growths.
    pub incr_every_n_steps: i64,
    /// Overflows in a row after which it backs off.
    pub decr_every_n_nan_or_inf: i64,
    /// Good steps so far.
    pub incr_count: i64,
    /// Overflows in a row so far.
    pub decr_count: i64,
    /// True for a dynamic scale.
    pub use_dynamic_loss_scaling: bool,
}

/// Serialisation of the scale as an array of one element.
#[cfg(feature = "serde")]
mod single {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number, or a list of one")]
    enum Scale {
        List([f64; 1]),
        Number(f64),
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(scale: &f64, to: S) -> Result<S::Ok, S::Error> {
        [scale].serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Scale::deserialize(from).map(|scale| match scale {
            Scale::List([scale]) | Scale::Number(scale) => scale,
        })
    }
}

impl PaddleState {
    /// Imports the rule and the state. The limits are those of exact scales, since Paddle has none. A static scale becomes a rule that never changes
    /// the scale.
    ///
    /// # Errors
    ///
    /// Returns an error if a scale is outside the limits, if a ratio is not a power of two, or if a counter is out of range.
    pub fn import(&self) -> Result<Imported, InterchangeError> {
        let (mut notes, mut rule) = (Vec::new(), LossScale::torch());
        let overflows = numbers::count("decr_every_n_nan_or_inf", self.decr_every_n_nan_or_inf, 1)?;
        rule.tolerance = Tolerance::InARow { overflows };
        rule.growth_exponent = numbers::growth("incr_ratio", self.incr_ratio)?;
        rule.backoff_exponent = numbers::backoff("decr_ratio", self.decr_ratio)?;
        let interval = self.incr_every_n_steps;
        rule::set_interval(&mut rule, "incr_every_n_steps", interval, &mut notes)?;
        if !self.use_dynamic_loss_scaling {
            (rule.growth_exponent, rule.backoff_exponent) = (0, 0);
            let why = "the scale is static, and a rule that never moves has no factors";
            notes.extend(["incr_ratio", "decr_ratio"].map(|key| rule::left_aside(key, why)));
        }
        let good_steps = rule::good_steps(&rule, "incr_count", self.incr_count, &mut notes)?;
        let in_a_row = self.overflows_in_a_row(overflows)?;
        let state = numbers::scale("scale", self.scale, &mut notes)?;
        let state = ScaleState { good_steps, bad_steps: in_a_row, tolerated: in_a_row, ..state };
        Ok(rule::imported(rule, state, notes))
    }

    fn overflows_in_a_row(&self, of: u32) -> Result<u32, InterchangeError> {
        let in_a_row = u32::try_from(self.decr_count).ok().filter(|&count| count < of);
        in_a_row.ok_or_else(|| InterchangeError::Count {
            key: "decr_count".into(),
            value: self.decr_count,
            expected: format!("0 or more, and below `decr_every_n_nan_or_inf`, {of}"),
        })
    }

    /// Exports the state for `load_state_dict`. A rule that never changes the scale becomes a static scale with Paddle's default ratios.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule predicts, or if its tolerance is not [`Tolerance::InARow`].
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
    ) -> Result<Exported<Self>, InterchangeError> {
        rule::counts(LIBRARY, rule)?;
        let (every, decr_count) = match rule.tolerance {
            Tolerance::InARow { overflows } => (overflows.max(1), state.tolerated),
            _ => rule::backs_off_at_once(LIBRARY, rule).map(|()| (1, 0))?,
        };
        let (growth, backoff) = (rule.growth_exponent.max(0), rule.backoff_exponent.max(0));
        let dynamic = (growth, backoff) != (0, 0);
        let (growth, backoff) = if dynamic { (growth, backoff) } else { (1, 1) };
        let saved = Self {
            scale: state.factor().into(),
            incr_ratio: numbers::power(growth),
            decr_ratio: numbers::power(-backoff),
            incr_every_n_steps: rule.growth_interval.into(),
            decr_every_n_nan_or_inf: every.into(),
            incr_count: state.good_steps.into(),
            decr_count: decr_count.into(),
            use_dynamic_loss_scaling: dynamic,
        };
        Ok(Exported { saved, notes: rule::notes(rule, state, None) })
    }
}
