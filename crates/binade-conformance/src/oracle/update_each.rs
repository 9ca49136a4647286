//! Two losses with a scale each, sentence by sentence of `Scaler::update_each`'s documentation.

use super::scale_update::update;
use binade_grad_scaler::{LossScale, ScaleState, Seen};

/// What was found where two losses meet.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// By loss, whether its gradients overflow.
    pub own: [bool; 2],
    /// Whether an overflow of one skips the step, rather than leaving its gradients out.
    pub skips: bool,
    /// Whether the sum overflows though what is in it does not.
    pub sum: bool,
}

/// By loss, its scale after the iteration.
pub fn update_each(rule: &LossScale, scales: &[ScaleState; 2], found: Found) -> [ScaleState; 2] {
    [0, 1].map(|loss| {
        // "An overflow in one loss's gradients skips the step, and backs off that loss's scale alone: the others count a
        // good step. A sum that overflows is everyone's."
        let overflow = found.own[loss] || found.sum;
        // "Where a window leaves bad micro-batches out, a loss counts its overflow, and not what became of the window."
        let skipped = (found.own[loss] && found.skips) || found.sum;
        update(rule, &scales[loss], Seen { overflow, skipped, magnitude: 0.0 })
    })
}
