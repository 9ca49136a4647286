//! Tensor and error type of a device, named once for every capability it has.

use crate::Error;

/// Handle that an adapter owns, with its tensor type, which may be foreign.
///
/// Capabilities (`Autocast`, `GradScaler`, `MasterWeights`, the operations) are implemented on the handle. A foreign trait cannot
/// be implemented for a foreign tensor (E0117), and a device operation needs a stream, kernels and an allocator. Handles are
/// cheap to clone if an adapter means them to be shared.
///
/// # For implementers
///
/// * A clone is the same device: each takes what the other has made.
/// * What is given and is wrong is an error, and no panic.
pub trait Handle {
    /// Tensor type of the framework.
    type Tensor;
    /// Error of fallible methods, in every capability.
    type Error: Error;
}
