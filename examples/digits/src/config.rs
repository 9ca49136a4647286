//! Settings of the runs: one run for each level and low type asked for.

use crate::args::{Args, Levels, OptimizerKind};
use binade::core::DType;
use binade::grad_scaler::LossScaleError;
use binade::master_weights::{Adam, Sgd, UpdateRule};
use binade::{OptLevel, Properties};

/// Good steps between doublings of the loss scale. torch's 2000 would never move it in a run of 675 steps.
const GROWTH_INTERVAL: u32 = 100;

/// Level and its low type.
pub type Setting = (OptLevel, DType);

/// Returns the settings of the runs asked for, in the order of the table.
pub fn settings(args: &Args) -> Vec<Setting> {
    let all = OptLevel::ALL
        .into_iter()
        .flat_map(|level| low_types(level).iter().map(move |&d| (level, d)));
    match (args.level, args.dtype) {
        (Levels::All, None) => all.collect(),
        (Levels::All, Some(low)) => OptLevel::ALL.map(|level| in_type(level, low)).into(),
        (Levels::One(level), Some(low)) => vec![in_type(level, low)],
        (Levels::One(level), None) => all.filter(|setting| setting.0 == level).collect(),
    }
}

/// Returns the level in a low type; O0 has none.
fn in_type(level: OptLevel, low: DType) -> Setting {
    (level, if level == OptLevel::O0 { DType::F32 } else { low })
}

/// Returns true if the setting's loss scale is dynamic.
pub fn is_scaled((level, dtype): Setting) -> bool {
    !level.with(dtype).loss_scale.is_fixed()
}

/// Returns the number of micro-batches of an epoch. Normalisation needs two images: a rest of one waits for another epoch.
pub fn batches(args: &Args, images: usize) -> usize {
    let batch = args.batch as usize;
    images / batch + usize::from(images % batch > 1)
}

/// Returns the number of optimizer steps of a whole run.
pub fn steps(args: &Args, images: usize) -> u64 {
    let windows = batches(args, images).div_ceil(args.accumulate as usize);
    windows as u64 * u64::from(args.epochs)
}

/// Returns the low types that a level is shown in. O3 has f16 alone: the table is about its losses.
fn low_types(level: OptLevel) -> &'static [DType] {
    match level {
        OptLevel::O0 => &[DType::F32],
        OptLevel::O1 | OptLevel::O2 => &[DType::F16, DType::BF16],
        OptLevel::O3 => &[DType::F16],
    }
}

/// Returns the level's properties, with the loss scale of the command line if the level has a dynamic one.
///
/// # Errors
///
/// If the scale or the interval is invalid.
pub fn properties(args: &Args, (level, dtype): Setting) -> Result<Properties, LossScaleError> {
    let properties = level.with(dtype);
    if !is_scaled((level, dtype)) {
        return Ok(properties);
    }
    let shown = || properties.loss_scale.with_growth_interval(GROWTH_INTERVAL);
    let mut rule = args.loss_scale.map_or_else(shown, Ok)?;
    if let Some(scale) = args.init_scale {
        rule = rule.with_init_scale(scale)?;
    }
    if let Some(steps) = args.growth_interval {
        rule = rule.with_growth_interval(steps)?;
    }
    Ok(Properties { loss_scale: rule, ..properties })
}

/// Returns the update rule of the command line.
pub fn rule(args: &Args) -> UpdateRule {
    match args.optimizer {
        OptimizerKind::Sgd => {
            let lr = args.lr.unwrap_or(0.05);
            let (dampening, weight_decay) = (0.0, 0.0);
            UpdateRule::Sgd(Sgd { lr, momentum: 0.9, dampening, weight_decay, nesterov: false })
        }
        OptimizerKind::Adam => UpdateRule::adam(args.lr.unwrap_or(0.004)),
        OptimizerKind::Adamw => UpdateRule::adamw(args.lr.unwrap_or(0.004)),
        OptimizerKind::Amsgrad => amsgrad(args.lr.unwrap_or(0.004)),
    }
}

/// Returns `AMSGrad` with torch's defaults of Adam.
fn amsgrad(lr: f64) -> UpdateRule {
    let (betas, eps) = ([0.9, 0.999], 1e-8);
    let (weight_decay, decoupled, amsgrad) = (0.0, false, true);
    UpdateRule::Adam(Adam { lr, betas, eps, weight_decay, decoupled, amsgrad })
}
