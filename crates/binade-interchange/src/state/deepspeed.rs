//! Scaler that DeepSpeed's `ZeRO` optimizers pickle into their checkpoints: `state_dict()["loss_scaler"]`.

use super::{Exported, Imported, InterchangeError, numbers, rule};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance};

const LIBRARY: &str = "DeepSpeed";

/// Time of the first growth after an overflow, or after the start. Later growths are a window apart in either case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FirstGrowth {
    /// After `scale_window` good steps, as in Binade: `ZeRO`'s optimizers up to DeepSpeed 0.17.
    AfterWindow,
    /// After one more good step: `ZeRO`'s optimizers since 0.18, and the fused optimizer of 0.16 to 0.19. After each overflow in Binade, the scale
    /// grows one step earlier than in DeepSpeed.
    AfterWindowAndOne,
}

/// Attributes of a dynamic `DynamicLossScaler`, `vars(scaler)` without `dtype`, under DeepSpeed's names. A static scaler, whose `dynamic` is false,
/// is an error: use [`LossScale::fixed`] for it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct DeepSpeedState {
    /// Always true, since only a dynamic scaler has a state.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "dynamic"))]
    pub dynamic: bool,
    /// Scale.
    pub cur_scale: f64,
    /// Number of updates so far.
    pub cur_iter: i64,
    /// Number of the last update that overflowed, from 0; -1 for none.
    pub last_overflow_iter: i64,
    /// Factor by which the scale grows and backs off.
    pub scale_factor: f64,
    /// Good steps between growths.
    pub scale_window: i64,
    /// Floor of the scale.
    pub min_scale: f64,
    /// Overflows until the scale backs off.
    pub delayed_shift: i64,
    /// Overflows left until the scale backs off, including the one that backs off.
    pub cur_hysteresis: i64,
    /// True if a good step restores the tolerance; otherwise growth does.
    pub consecutive_hysteresis: bool,
    /// True if an overflow at the floor ends the run.
    pub raise_error_at_min_scale: bool,
}

impl DeepSpeedState {
    /// Imports the rule and the state. `first` follows from DeepSpeed's version, which is not saved.
    ///
    /// # Errors
    ///
    /// Returns an error if a scale is outside the limits, if a factor or a floor is not a power of two, or if a counter is out of range.
    pub fn import(&self, first: FirstGrowth) -> Result<Imported, InterchangeError> {
        let mut notes = Vec::new();
        let window = numbers::count("scale_window", self.scale_window, 1)?;
        let overflows = numbers::count("delayed_shift", self.delayed_shift, 1)?;
        let mut rule = LossScale::torch();
        rule.growth_exponent = numbers::growth("scale_factor", self.scale_factor)?;
        rule.backoff_exponent = rule.growth_exponent;
        rule.growth_interval = window;
        rule.min_exponent = numbers::floor("min_scale", self.min_scale)?;
        rule.tolerance = if self.consecutive_hysteresis {
            Tolerance::UntilGoodStep { overflows }
        } else {
            Tolerance::UntilGrowth { overflows }
        };
        if !self.raise_error_at_min_scale {
            let why = "here an overflow at the floor is divergence";
            notes.push(rule::left_aside("raise_error_at_min_scale", why));
        }
        let state = numbers::scale("cur_scale", self.cur_scale, &mut notes)?;
        let iterations = Iterations { now: self.cur_iter, last_overflow: self.last_overflow_iter };
        let state = iterations.import(first, window, state, &mut notes)?;
        let tolerated = self.tolerated(overflows)?;
        Ok(rule::imported(rule, ScaleState { tolerated, ..state }, notes))
    }

    fn tolerated(&self, of: u32) -> Result<u32, InterchangeError> {
        let left = u32::try_from(self.cur_hysteresis).ok().filter(|left| (1..=of).contains(left));
        left.map(|left| of - left).ok_or_else(|| InterchangeError::Count {
            key: "cur_hysteresis".into(),
            value: self.cur_hysteresis,
            expected: format!("1 to `delayed_shift`, {of}"),
        })
    }

    /// Exports the attributes to set on a `DynamicLossScaler`. DeepSpeed has no ceiling.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule grows and backs off by different factors, predicts, or tolerates overflows other than by a hysteresis.
    pub fn export(
        rule: &LossScale,
        state: &ScaleState,
        first: FirstGrowth,
    ) -> Result<Exported<Self>, InterchangeError> {
        let scale_factor = one_factor(rule)?;
        let (overflows, tolerated, consecutive_hysteresis) = match rule.tolerance {
            Tolerance::UntilGoodStep { overflows } => (overflows.max(1), state.tolerated, true),
            Tolerance::UntilGrowth { overflows } => (overflows.max(1), state.tolerated, false),
            _ => rule::backs_off_at_once(LIBRARY, rule).map(|()| (1, 0, false))?,
        };
        let iterations = Iterations::export(state, first);
        let saved = Self {
            dynamic: true,
            cur_scale: state.factor().into(),
            cur_iter: iterations.now,
            last_overflow_iter: iterations.last_overflow,
            scale_factor,
            scale_window: rule.growth_interval.into(),
            min_scale: numbers::power(rule.min_exponent),
            delayed_shift: overflows.into(),
            cur_hysteresis: overflows.saturating_sub(tolerated).max(1).into(),
            consecutive_hysteresis,
            raise_error_at_min_scale: true,
        };
        Ok(Exported { saved, notes: rule::notes(rule, state, Some(rule.min_exponent)) })
    }
}

/// Reads the flag of a dynamic scaler.
#[cfg(feature = "serde")]
pub(super) fn dynamic<'de, D: serde::Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let fixed = || {
        serde::de::Error::custom(
            "only a dynamic scaler has a state; a static one is `LossScale::fixed`",
        )
    };
    <bool as serde::Deserialize>::deserialize(from)?.then_some(true).ok_or_else(fixed)
}

/// Returns the factor of a rule that grows and backs off by the same factor.
pub(super) fn one_factor(rule: &LossScale) -> Result<f64, InterchangeError> {
    rule::counts(LIBRARY, rule)?;
    if rule.growth_exponent == rule.backoff_exponent && rule.growth_exponent >= 0 {
        return Ok(numbers::power(rule.growth_exponent));
    }
    let (up, down) = (rule.growth_exponent, rule.backoff_exponent);
    rule::refused(LIBRARY, format!("it moves by {up} binades up and {down} down"))
}

/// Counters `cur_iter` and `last_overflow_iter`, which decide when DeepSpeed's scale grows.
pub(super) struct Iterations {
    pub(super) now: i64,
    pub(super) last_overflow: i64,
}

impl Iterations {
    /// Imports the good steps since the last overflow, modulo the window, and the number of updates.
    pub(super) fn import(
        &self,
        first: FirstGrowth,
        window: u32,
        state: ScaleState,
        notes: &mut Vec<String>,
    ) -> Result<ScaleState, InterchangeError> {
        let updates =
            u64::try_from(self.now).map_err(|_| out_of("cur_iter", self.now, "0 or more"))?;
        if !(-1..self.now.max(0)).contains(&self.last_overflow) {
            return Err(out_of(
                "last_overflow_iter",
                self.last_overflow,
                "-1, or below `cur_iter`",
            ));
        }
        let good = self.now - 1 - self.last_overflow;
        let late = i64::from(first == FirstGrowth::AfterWindowAndOne);
        if good < late {
            let why = "here the scale grows a step earlier the first time";
            notes.push(rule::left_aside("last_overflow_iter", why));
        }
        let counted = (good - late).max(0);
        if counted >= i64::from(window) {
            let why = "of the good steps since, those before the last growth no longer count";
            notes.push(rule::left_aside("last_overflow_iter", why));
        }
        let good_steps = u32::try_from(counted % i64::from(window)).unwrap_or_default();
        let bad_steps = u32::from(good == 0 && self.now > 0);
        Ok(ScaleState { good_steps, bad_steps, updates, ..state })
    }

    /// Returns counters with which DeepSpeed's next growth comes when Binade's would have. After an overflow or at the start it comes by DeepSpeed's
    /// rule.
    pub(super) fn export(state: &ScaleState, first: FirstGrowth) -> Self {
        let fresh = state.good_steps == 0 && (state.bad_steps > 0 || state.updates == 0);
        let late = i64::from(first == FirstGrowth::AfterWindowAndOne && !fresh);
        let good = i64::from(state.good_steps) + late;
        // Good steps cannot exceed updates, but another library may not have saved the number of updates.
        let now = i64::try_from(state.updates).unwrap_or(i64::MAX).max(good);
        Self { now, last_overflow: now - good - 1 }
    }
}

fn out_of(key: &str, value: i64, expected: &str) -> InterchangeError {
    InterchangeError::Count { key: key.into(), value, expected: expected.into() }
}
