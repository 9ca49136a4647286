//! A check of a new loop: whether backward differentiates the loss that it is given.

use crate::{GradScaler, Loss, ScaleState, Scaler};
use binade_core::{FoundInf, OrderError};

/// The exponent of the larger of the two scales that are compared.
const EXPONENT: i32 = 8;

impl<D: GradScaler> Scaler<D> {
    /// Runs `run` on the loss times 1 and on the loss times 256, and compares the largest finite |gradient| of the two: a check to call once, when
    /// writing a new loop, with the same closure as [`backward`](crate::ScaledLoss::backward).
    ///
    /// A backward pass that starts from the unscaled loss compiles, and gives gradients that are too small by the scale. The scaler
    /// is left as it was. Waits for the device.
    ///
    /// The forward pass must survive a backward pass, and a gradient must be above 0. An overflow under only the larger scale shows that backward
    /// applies the scale.
    ///
    /// # Errors
    ///
    /// The errors of `run`, and when the device fails. [`OrderError::BackwardIgnoresScale`] if the larger scale does not make the
    /// largest |gradient| 256 times as large, within a factor of 2 for what sixteen bits round.
    pub fn verify_backward<L, F>(&self, loss: &L, mut run: F) -> Result<(), L::Error>
    where
        L: Loss<D>,
        F: FnMut(&L) -> Result<D::Grads, L::Error>,
    {
        let device = self.device();
        let large_scale = ScaleState::from_exponent(EXPONENT);
        let mut found = |state: ScaleState| {
            let scale = device.upload_state(state)?;
            let mut grads = run(&loss.scaled(device, &scale)?)?;
            device.unscale(&mut grads, &scale).map_err(L::Error::from)
        };
        let both = [found(ScaleState::from_exponent(0))?, found(large_scale)?];
        let (read, _) = device.read(&both.each_ref(), &self.scale)?;
        let has_overflowed = |place: usize| read.get(place).is_some_and(|f| f.overflow.is_some());
        let largest = |place: usize| read.get(place).map_or(0.0, |found| found.magnitude);
        let (small, large, factor) = (largest(0), largest(1), large_scale.factor());
        // A sixteen-bit gradient under the scale of 1 may have been rounded up, or to 0.
        let is_enough = large > 0.0 && large >= small * factor * 0.5;
        let is_once = small == 0.0 || large <= small * factor * 2.0;
        if (is_enough && is_once) || (has_overflowed(1) && !has_overflowed(0)) {
            return Ok(());
        }
        let [small, large] = [0, 1].map(|place| read.get(place).map_or(0.0, told));
        let error = OrderError::BackwardIgnoresScale { small, large, factor };
        Err(device.train_error(error.into()).into())
    }
}

/// The largest |gradient|: the first that is not finite, where no other is above 0.
fn told(found: &FoundInf) -> f32 {
    match &found.overflow {
        Some(overflow) if found.magnitude == 0.0 => overflow.scaled.abs(),
        _ => found.magnitude,
    }
}
