//! Reasons why memory of another program cannot be adopted, or an operation on it is refused.

use crate::{CudaError, Error};
use binade_core::{DType, ErrorKind};

/// Reason why memory of another program cannot be adopted, or an operation on it is refused.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AdoptError {
    /// Memory of another device.
    #[error(
        "it lies on device {found}, and this handle works on device {device}; open that device, or copy the tensor"
    )]
    Device {
        /// Number of the memory's device.
        found: usize,
        /// Number of the handle's device.
        device: usize,
    },
    /// Memory of another context of the same device.
    #[error(
        "it belongs to another context of device {device}; take the primary context, as `CudaContext::new` does, on both sides"
    )]
    Context {
        /// Number of the device.
        device: usize,
    },
    /// Address that is not a multiple of the element's size.
    #[error("its address {address:#x} is no multiple of {needed} bytes, as kernels need it")]
    Misaligned {
        /// Address of the first element.
        address: u64,
        /// Alignment in bytes that the address lacks.
        needed: usize,
    },
    /// Element type of the tensor that differs from the requested one.
    #[error("its elements are {found}, and {asked} was asked for; cast the tensor first")]
    DType {
        /// Type of the tensor.
        found: DType,
        /// Requested type.
        asked: DType,
    },
    /// Write to memory that was adopted to be read.
    #[error(
        "it was adopted to be read, and would be written to; adopt what a step changes by `Cuda::adopt_mut`"
    )]
    ReadOnly,
    /// Parameter that would move out of the memory that it was adopted with, whose owner would keep the old values.
    #[error(
        "a parameter in it would move to other memory, and its owner would keep the old values; before the step, drop the tape and clones \
         of the parameter, and let the configuration store it in the type that it has"
    )]
    Moved,
    /// Parameter whose owner has put it in other memory since it was adopted.
    #[error("the owner has put the tensor in other memory since; adopt it anew")]
    Replaced,
    /// Part of a DLPack tensor that this backend does not support.
    #[error("DLPack: {part} is {found}; {needed}")]
    DlPack {
        /// Field of the structure.
        part: &'static str,
        /// Value of the field.
        found: String,
        /// Supported values.
        needed: &'static str,
    },
}

impl AdoptError {
    /// Returns the error of an operation.
    pub(crate) fn of(self, operation: &'static str) -> Error {
        Error::Driver(CudaError::Adopt { operation, why: self })
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::DlPack { .. } => ErrorKind::Unsupported,
            Self::Misaligned { .. } | Self::ReadOnly | Self::Moved | Self::Replaced => {
                ErrorKind::InvalidArgument
            }
            Self::Device { .. } | Self::Context { .. } | Self::DType { .. } => ErrorKind::Mismatch,
        }
    }
}
