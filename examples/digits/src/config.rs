//! Settings of the runs: one run for each level and low type asked for.

use crate::args::{Args, OptimizerKind};
use crate::ranks::SHARDS;
use binade::Properties;
use binade::grad_scaler::LossScaleError;
use binade::master_weights::{Adam, Sgd, UpdateRule};
use binade_example_shared::program::{self, is_scaled};

pub use program::Setting;

/// Returns the settings of the runs asked for, in the order of the table.
pub fn settings(args: &Args) -> Vec<Setting> {
    program::settings(args.level, args.dtype)
}

/// Returns the number of micro-batches of an epoch. Normalisation needs two images, and ranks one for each shard: a smaller rest
/// waits for another epoch.
pub fn batches(args: &Args, images: usize) -> usize {
    let batch = args.batch as usize;
    let least = if args.ranks.is_some() { SHARDS } else { 2 };
    images / batch + usize::from(images % batch >= least)
}

/// Returns the number of optimizer steps of a whole run.
pub fn steps(args: &Args, images: usize) -> u64 {
    let windows = batches(args, images).div_ceil(args.accumulate as usize);
    windows as u64 * u64::from(args.epochs)
}

/// Returns the level's properties, with the loss scale of the command line if the level has a dynamic one.
///
/// # Errors
///
/// If the scale or the interval is invalid.
pub fn properties(args: &Args, setting: Setting) -> Result<Properties, LossScaleError> {
    let properties = program::properties(setting)?;
    if !is_scaled(setting) {
        return Ok(properties);
    }
    let mut rule = args.loss_scale.unwrap_or(properties.loss_scale);
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
    UpdateRule::Adam(Adam { lr, betas, eps, weight_decay, decoupled, amsgrad, sparse: false })
}
