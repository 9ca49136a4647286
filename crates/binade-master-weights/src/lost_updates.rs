//! Updates that changed nothing: the measure of whether a store is precise enough.

use crate::step::Factor;
use crate::{StepConstants, rules::ElementState};
use std::ops::AddAssign;

/// Count of the weights that a step did not change although their update was not zero: in their precision w + Δ is w.
///
/// Masters are counted where the store keeps masters, and parameters elsewhere. A change of a master is not a lost update, even if its low-precision
/// copy stays the same. A weight counts if its update in `f32` was not zero: the rule's addition to the parameter, or the decay.
///
/// A share near 0 means that the store is precise enough. If the share grows as the learning rate falls, use a store with masters, or with more
/// precise ones.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LostUpdates {
    /// Weights that stayed as they were though their update was not zero.
    pub lost: u64,
    /// Weights that moved.
    pub moved: u64,
}

impl LostUpdates {
    /// Lost updates among all that were not zero; 0 where there were none.
    #[expect(clippy::cast_precision_loss, reason = "a share; counts above 2^53 are rounded")]
    pub fn share(&self) -> f64 {
        let all = self.lost + self.moved;
        if all == 0 { 0.0 } else { self.lost as f64 / all as f64 }
    }

    /// Counts a step with `grads` and these moments before it that led from `before` to `after`.
    pub(crate) fn of_step<G: binade_core::Element>(
        (constants, factor): (&StepConstants, Factor),
        grads: &[G],
        moments: &[Vec<f32>; 3],
        [before, after]: [&[f32]; 2],
    ) -> Self {
        let mut count = Self::default();
        for (i, ((before, after), grad)) in before.iter().zip(after).zip(grads).enumerate() {
            let moments = moments.each_ref().map(|moment| moment.get(i).copied().unwrap_or(0.0));
            let mut element = ElementState { param: *before, moments };
            let updated = constants.element(factor.apply(grad.to_f32()), &mut element);
            match before == after {
                true if updated => count.lost += 1,
                false => count.moved += 1,
                true => {}
            }
        }
        count
    }
}

impl AddAssign for LostUpdates {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.moved += other.moved;
    }
}
