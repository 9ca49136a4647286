//! A step with a closure that evaluates the loss again, as L-BFGS takes one.

use super::{OptimizerId, ProtocolError, ProtocolScaler, Verdict};

impl ProtocolScaler {
    /// Refuses a step that was given a closure; for bindings to call where their caller passes one, by name or by place.
    ///
    /// torch looks at neither stage nor scale before it refuses a closure given by name; one given by place it does not see,
    /// and the optimizer then steps with scaled gradients.
    ///
    /// # Errors
    ///
    /// Always [`ProtocolError::Closure`]. Nothing has changed.
    pub fn step_with_closure(&self, optimizer: OptimizerId) -> Result<Verdict, ProtocolError> {
        Err(ProtocolError::Closure { optimizer })
    }
}
