//! Parameters in `f32`, whatever they are stored in: what a checkpoint of a low-precision model should hold.

use crate::MasterWeights;
use binade_core::Named;

/// A device that gives out the `f32` values it trains.
///
/// # For implementers
///
/// * The values of a parameter are those that its next step starts from: the master's, whole, where its store keeps one,
///   and the parameter's own, widened, elsewhere. Started again from these, under any store that loses nothing, a run has
///   the same masters.
/// * Parameters come in the optimizer's order, elements in row-major order.
pub trait ExportF32: MasterWeights {
    /// Every parameter's `f32` values. This reads the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn export_f32(
        &self,
        params: &Self::Params,
        masters: &Self::Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Self::Error>;
}
