//! Settings of the runs: one run for each level and low type asked for.

use binade::core::DType;
use binade::grad_scaler::LossScaleError;
use binade::{OptLevel, Properties};
use std::str::FromStr;

/// Good steps between doublings of the loss scale. torch's 2000 would never move it in a run of a few hundred steps.
const GROWTH_INTERVAL: u32 = 100;

/// Level asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Levels {
    /// Levels O0 to O3.
    All,
    /// One level.
    One(OptLevel),
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word.eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        word.parse().map(Self::One).map_err(|error: binade::Illegal| format!("{error}; or all"))
    }
}

/// Level and its low type.
pub type Setting = (OptLevel, DType);

/// Returns the settings of the runs asked for, in the order of the table: each level's low types where `low` is left out.
pub fn settings(levels: Levels, low: Option<DType>) -> Vec<Setting> {
    let all = OptLevel::ALL
        .into_iter()
        .flat_map(|level| low_types(level).iter().map(move |&d| (level, d)));
    match (levels, low) {
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

/// Returns the low types that a level is shown in. O3 has f16 alone: the table is about its losses.
fn low_types(level: OptLevel) -> &'static [DType] {
    match level {
        OptLevel::O0 => &[DType::F32],
        OptLevel::O1 | OptLevel::O2 => &[DType::F16, DType::BF16],
        OptLevel::O3 => &[DType::F16],
    }
}

/// Returns true if the setting's loss scale is dynamic.
pub fn is_scaled((level, dtype): Setting) -> bool {
    !level.with(dtype).loss_scale.is_fixed()
}

/// Returns the level's properties, with a dynamic loss scale that moves in a short run.
///
/// # Errors
///
/// None: the interval is valid.
pub fn properties(setting: Setting) -> Result<Properties, LossScaleError> {
    let mut properties = setting.0.with(setting.1);
    if is_scaled(setting) {
        properties.loss_scale = properties.loss_scale.with_growth_interval(GROWTH_INTERVAL)?;
    }
    Ok(properties)
}
