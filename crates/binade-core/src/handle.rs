//! Tensor and error type of a device, named once for every capability it has.

use crate::Error;

/// Handle of a device. Its tensor type may come from another crate.
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

/// Implements `new`, `Default`, `Clone`, `Copy` and `Debug` for a handle that is nothing but the type that it is for.
macro_rules! empty_handle {
    ($handle:ident) => {
        impl<T> $handle<T> {
            /// Creates a handle; it holds nothing.
            pub const fn new() -> Self {
                Self(PhantomData)
            }
        }

        impl<T> Default for $handle<T> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $handle<T> {}

        impl<T> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>", stringify!($handle), std::any::type_name::<T>())
            }
        }
    };
}

pub(crate) use empty_handle;
