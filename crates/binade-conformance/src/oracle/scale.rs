//! A tensor times the scale, and over it, in `f32` whatever its storage.

use super::cast::rounded;
use super::unscale;
use binade_core::DType;

/// One element times `scale`, rounded once to `f32`.
pub fn up(x: f64, scale: f64) -> f64 {
    rounded(x * scale, DType::F32)
}

/// One element over `scale`, rounded once to `f32`.
pub fn down(x: f64, scale: f64) -> f64 {
    unscale::element(x, scale)
}
