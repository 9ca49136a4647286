//! The nouns of a device, named once for every capability it has.

use crate::Error;

/// A handle that an adapter owns, and the tensor it speaks of, which may be anyone's.
///
/// Capabilities (`Autocast`, `GradScaler`, `MasterWeights`, the operations) are implemented on the handle, because a
/// stranger's tensor cannot carry a stranger's trait (E0117), and because a device operation needs a stream, kernels
/// and an allocator. Handles are cheap to clone where an adapter means them to be shared.
///
/// # For implementers
///
/// * A clone is the same device: each takes what the other has made.
/// * What is given and is wrong is an error, and no panic.
pub trait Handle {
    /// The framework's own tensor.
    type Tensor;
    /// What fallible methods return, in every capability.
    type Error: Error;
}
