//! Loss scaling: the scale and what passes find are values on the device.

mod accumulate;
mod clip;
mod clip_groups;
mod grad_scaler;
mod report;
mod scale;
mod scale_store;
mod unscale;

pub use scale::Scale;

use crate::shaders::Shader;

/// Their shaders.
pub(crate) const SHADERS: &[&Shader] = &[
    &accumulate::ACCUMULATE,
    &accumulate::ACCUMULATE_MARK,
    &clip_groups::CLIP_GROUP,
    &clip::CLIP,
    &grad_scaler::SCALE,
    &scale_store::MERGE,
    &scale_store::SCALE_UPDATE,
    &unscale::UNSCALE,
    &unscale::UNSCALE_JOIN,
];
