//! State that training kernels keep on the device: the layouts that every backend's kernels share, and the host's own types.

use binade_grad_scaler::{Averages, LogMax, LossScale, ScaleState};
use bytemuck::{Pod, Zeroable};

/// The loss scale on the device: `Scale` of the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of `ScaleState`")]
pub struct ScaleBits {
    pub factor: f32,
    pub inverse: f32,
    pub significand: f32,
    pub exponent: i32,
    pub before: i32,
    pub good_steps: u32,
    pub bad_steps: u32,
    pub diverged: u32,
    pub updates: u64,
    pub overflows: u64,
    pub skipped: u64,
    pub tolerated: u32,
    pub since_move: u32,
    pub mean: i64,
    pub slow_mean: i64,
    pub square: i64,
    pub taken: u32,
    pub slow_taken: u32,
}

/// Found-inf result of a pass over gradients on the device: `Found` of the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of `FoundInf`")]
pub struct FoundBits {
    pub raised: u32,
    pub halted: u32,
    pub parameter: u32,
    pub has_norm: u32,
    pub index: u64,
    pub scaled: f32,
    pub unscaled: f32,
    pub infinities: u64,
    pub nans: u64,
    pub magnitude: f32,
    pub norm: f32,
    /// One more than the overflow's rank, or 0.
    pub rank: u32,
    pub pad: u32,
}

/// Pending factors of gradients: `Owed` of the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct OwedBits {
    /// The inverse of the scale.
    pub inverse: f32,
    /// The factor of clipping.
    pub clip: f32,
    /// The largest magnitude.
    pub largest: f32,
    /// The exponent of `squares`, on a device without `f64`.
    pub exponent: i32,
    /// The sum of the squares, as the device has it.
    pub squares: u64,
}

impl OwedBits {
    /// Factors of gradients without pending factors.
    pub const NOTHING: Self =
        Self { inverse: 1.0, clip: 1.0, largest: 0.0, exponent: 0, squares: 0 };
}

/// A loss-scale rule as kernels take it: `Rule` of the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of `LossScale`")]
pub struct LossScaleBits {
    pub growth: i32,
    pub backoff: i32,
    pub min: i32,
    pub max: i32,
    pub growth_interval: u32,
    pub patience: u32,
    /// The first of `Tolerance::numbers`.
    pub tolerance: u32,
    /// The second.
    pub amount: u32,
    /// 1 for a rule that predicts by `log_max`.
    pub predicts: u32,
    pub log_max: LogMaxBits,
}

/// The prediction of a loss-scale rule as kernels take it: `LogMax` of the kernels.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of `LogMax`")]
pub struct LogMaxBits {
    pub ceiling: i32,
    pub deviations: u32,
    pub weight: u32,
    pub slow_weight: u32,
}

const _: () = {
    assert!(size_of::<ScaleBits>() == 96);
    assert!(size_of::<FoundBits>() == 64);
    assert!(size_of::<OwedBits>() == 24);
    assert!(size_of::<LossScaleBits>() == 52);
};

impl From<ScaleState> for ScaleBits {
    fn from(state: ScaleState) -> Self {
        Self {
            factor: state.factor(),
            inverse: state.inverse(),
            significand: state.significand,
            exponent: state.exponent,
            before: state.before,
            good_steps: state.good_steps,
            bad_steps: state.bad_steps,
            diverged: u32::from(state.diverged),
            updates: state.updates,
            overflows: state.overflows,
            skipped: state.skipped,
            tolerated: state.tolerated,
            since_move: state.since_move,
            mean: state.averages.mean,
            slow_mean: state.averages.slow_mean,
            square: state.averages.square,
            taken: state.averages.taken,
            slow_taken: state.averages.slow_taken,
        }
    }
}

impl From<ScaleBits> for ScaleState {
    fn from(bits: ScaleBits) -> Self {
        Self {
            significand: bits.significand,
            exponent: bits.exponent,
            before: bits.before,
            good_steps: bits.good_steps,
            bad_steps: bits.bad_steps,
            updates: bits.updates,
            overflows: bits.overflows,
            skipped: bits.skipped,
            diverged: bits.diverged != 0,
            tolerated: bits.tolerated,
            since_move: bits.since_move,
            averages: Averages {
                mean: bits.mean,
                slow_mean: bits.slow_mean,
                square: bits.square,
                taken: bits.taken,
                slow_taken: bits.slow_taken,
            },
        }
    }
}

impl From<&LossScale> for LossScaleBits {
    fn from(rule: &LossScale) -> Self {
        let (tolerance, amount) = rule.tolerance.numbers();
        Self {
            growth: rule.growth_exponent,
            backoff: rule.backoff_exponent,
            min: rule.min_exponent,
            max: rule.max_exponent,
            growth_interval: rule.growth_interval,
            patience: rule.patience,
            tolerance,
            amount,
            predicts: u32::from(rule.log_max.is_some()),
            log_max: rule.log_max.map(LogMaxBits::from).unwrap_or_default(),
        }
    }
}

impl From<LogMax> for LogMaxBits {
    fn from(rule: LogMax) -> Self {
        let LogMax { ceiling_exponent: ceiling, deviations, weight, slow_weight } = rule;
        Self { ceiling, deviations, weight, slow_weight }
    }
}
