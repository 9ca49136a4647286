//! A step with a closure that evaluates the loss again, as L-BFGS takes one.

use super::{OptimizerId, ProtocolError, ProtocolScaler, Verdict};

impl ProtocolScaler {
    /// Refuses a step that was given a closure. Bindings call this if their caller passes one, by name or by position.
    ///
    /// torch refuses a closure given by name before it looks at stage or scale. One given by position it does not see, and the
    /// optimizer then steps with scaled gradients.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Closure`], always. The scaler is unchanged.
    pub fn step_with_closure(&self, optimizer: OptimizerId) -> Result<Verdict, ProtocolError> {
        Err(ProtocolError::Closure { optimizer })
    }
}
