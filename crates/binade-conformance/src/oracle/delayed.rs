//! Scaled gradients of several losses, added up in `f32` without those that are not finite, and divided once.

use super::accumulate::{MicroBatch, accumulate};
use super::unscale::{Found, Grads, unscale};

/// What comes of a window.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The sum, divided by the scale; nothing for a parameter that no good pass had.
    pub grads: Vec<Option<Vec<f64>>>,
    /// What is found in each pass, and last in the sum.
    pub parts: Vec<Found>,
    /// Whether the step is skipped.
    pub skipped: bool,
}

/// The sum of `passes`, whose losses were multiplied by `scale`.
pub fn delayed(passes: &[Grads<'_>], scale: f64) -> Collected {
    let mut parts: Vec<Found> = passes.iter().map(|pass| unscale(pass, 1.0).1).collect();
    let still_scaled = |pass| MicroBatch { grads: pass, scale: 1.0, halted: false };
    let window: Vec<_> = passes.iter().cloned().map(still_scaled).collect();
    let names = passes.iter().take(1).flatten().map(|(name, _)| *name);
    let sum: Vec<_> = names.zip(accumulate(&window)).collect();
    let (grads, found) = unscale(&sum, scale);
    parts.push(found);
    let skipped = parts.iter().any(|found| found.first.is_some());
    Collected { grads, parts, skipped }
}
