//! Each library's rule in binades, from the arguments that it was made with.

use super::super::error::Wrong;
use super::format::{Recorded, Rule};
use binade_grad_scaler::{LossScale, Tolerance};
use binade_interchange::FirstGrowth;

/// Largest exponent of a scale whose inverse is a normal number.
pub(super) const MAX_EXPONENT: i32 = LossScale::torch().max_exponent;

/// The rule, with a patience that never ends: no library has one.
pub(super) fn of(recorded: &Recorded, rule: &Rule) -> Result<LossScale, Wrong> {
    let ours = match recorded.library.as_str() {
        "torch" => torch(rule)?,
        "keras" => doubling(rule, "dynamic_growth_steps", -MAX_EXPONENT, MAX_EXPONENT)?,
        "tf_keras" => doubling(rule, "dynamic_growth_steps", 0, MAX_EXPONENT)?,
        "jmp" => jmp(rule)?,
        "paddle" => paddle(rule)?,
        "deepspeed" => deepspeed(rule)?,
        "fairseq" => fairseq(rule)?,
        "apex" if rule.has("hysteresis") => hysteresis(rule)?,
        "apex" => apex(rule)?,
        "log_max" => preset("log-max")?,
        other => return Err(Wrong::Recording(format!("the rule of {other} is not known here"))),
    };
    Ok(ours.with_patience(u32::MAX))
}

/// When this version of DeepSpeed first grows.
pub(super) fn first_growth(recorded: &Recorded, rule: &Rule) -> FirstGrowth {
    let minor = recorded.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    let is_late = rule.is_set("fused") || minor.is_some_and(|minor| minor >= 18);
    if recorded.library == "deepspeed" && is_late {
        FirstGrowth::AfterWindowAndOne
    } else {
        FirstGrowth::AfterWindow
    }
}

/// torch's rule around these numbers.
fn moves(growth: i32, backoff: i32, interval: u32) -> Result<LossScale, Wrong> {
    let mut ours = LossScale::torch();
    (ours.growth_exponent, ours.backoff_exponent) = (growth, backoff);
    ours.with_growth_interval(interval).map_err(|error| Wrong::Recording(error.to_string()))
}

fn within(ours: LossScale, min: i32, max: i32) -> Result<LossScale, Wrong> {
    let [min, max] = [min, max].map(|exponent| 2.0_f32.powi(exponent));
    ours.with_limits(min, max).map_err(|error| Wrong::Recording(error.to_string()))
}

fn torch(rule: &Rule) -> Result<LossScale, Wrong> {
    let (up, down) = (rule.exponent("growth_factor")?, -rule.exponent("backoff_factor")?);
    moves(up, down, rule.count("growth_interval")?)
}

fn doubling(rule: &Rule, interval: &str, min: i32, max: i32) -> Result<LossScale, Wrong> {
    within(moves(1, 1, rule.count(interval)?)?, min, max)
}

fn jmp(rule: &Rule) -> Result<LossScale, Wrong> {
    let by = rule.exponent("factor")?;
    within(moves(by, by, rule.count("period")?)?, rule.exponent("min_loss_scale")?, MAX_EXPONENT)
}

fn paddle(rule: &Rule) -> Result<LossScale, Wrong> {
    let overflows = rule.count("decr_every_n_nan_or_inf")?;
    let (up, down) = (rule.exponent("incr_ratio")?, -rule.exponent("decr_ratio")?);
    let ours = moves(up, down, rule.count("incr_every_n_steps")?)?;
    Ok(ours.with_tolerance(Tolerance::InARow { overflows }))
}

fn deepspeed(rule: &Rule) -> Result<LossScale, Wrong> {
    let ours = doubling(rule, "scale_window", rule.exponent("min_scale")?, MAX_EXPONENT)?;
    if rule.is_set("fused") {
        return Ok(ours);
    }
    let overflows = rule.count("delayed_shift")?;
    Ok(ours.with_tolerance(if rule.is_set("consecutive_hysteresis") {
        Tolerance::UntilGoodStep { overflows }
    } else {
        Tolerance::UntilGrowth { overflows }
    }))
}

fn fairseq(rule: &Rule) -> Result<LossScale, Wrong> {
    let share = Tolerance::share(rule.number("tolerance")?);
    let share = share.map_err(|error| Wrong::Recording(error.to_string()))?;
    Ok(doubling(rule, "scale_window", preset("fairseq")?.min_exponent, MAX_EXPONENT)?
        .with_tolerance(share))
}

fn preset(name: &str) -> Result<LossScale, Wrong> {
    LossScale::preset(name).map_err(|error| Wrong::Recording(error.to_string()))
}

fn apex(rule: &Rule) -> Result<LossScale, Wrong> {
    let min = rule.exponent("min_loss_scale").unwrap_or(-MAX_EXPONENT);
    doubling(rule, "scale_window", min, preset("apex")?.max_exponent)
}

fn hysteresis(rule: &Rule) -> Result<LossScale, Wrong> {
    let overflows = rule.count("hysteresis")?;
    Ok(torch(rule)?.with_tolerance(Tolerance::UntilGoodStep { overflows }))
}
