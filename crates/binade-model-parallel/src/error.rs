//! Errors of several devices that train one model.

use binade_core::{Error, ErrorKind, MatchError};
use binade_master_weights::ConfigError;
use std::sync::Arc;

/// Error of a device, or of tensors on different devices.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelParallelError<E> {
    /// Error of a device.
    #[error(transparent)]
    Device(E),
    /// Error that concerns one device, such as too little memory.
    #[error("device {device} of the model: {source}")]
    OnDevice {
        /// Number of the device.
        device: usize,
        /// Its error.
        source: E,
    },
    /// Operands on different devices.
    #[error(
        "`{operation}`: operand 0 is on device {first} and operand {operand} on device {other}; move one of them, as by \
         `x.to_device({first})`"
    )]
    DifferentDevices {
        /// Name of the operation.
        operation: &'static str,
        /// Device of operand 0.
        first: usize,
        /// Position of the first operand on another device.
        operand: usize,
        /// That device.
        other: usize,
    },
    /// Gradient on a different device than its parameter, or than the sum that it is added to.
    #[error(
        "the gradient of `{parameter}` is on device {found}, and {owner} on device {expected}; leave each parameter on one device, and \
         move values that are computed from it"
    )]
    GradientDevice {
        /// Name of the parameter.
        parameter: Arc<str>,
        /// Device of the gradient.
        found: usize,
        /// Kind of the object that the gradient belongs to.
        owner: &'static str,
        /// Device of the parameter or the sum.
        expected: usize,
    },
    /// Device number that does not exist.
    #[error("there is no device {device}: the model has {devices}, numbered from 0")]
    NoDevice {
        /// The number.
        device: usize,
        /// Number of devices.
        devices: usize,
    },
    /// Value with parts for a different number of devices.
    #[error(
        "a value of {found} devices came to a model of {devices}; values of one handle go with no other"
    )]
    OtherDevices {
        /// Number of devices of the value.
        found: usize,
        /// Number of devices of the handle.
        devices: usize,
    },
    /// Gradients that have not been unscaled.
    #[error("these gradients are as backward returned them: unscale them first")]
    NotUnscaled,
    /// Group of parameters on several devices, for which a single norm is needed.
    #[error(
        "clip_groups: the group of `{parameter}` has parameters on devices {devices:?}; give those of each device a group, or clip all by \
         `clip_norm`, whose norm is of all devices"
    )]
    GroupDevices {
        /// First parameter of the group.
        parameter: String,
        /// Devices of its parameters.
        devices: Vec<usize>,
    },
    /// Sets that do not fit the parameters or each other.
    #[error(transparent)]
    Mismatch(MatchError),
    /// Configuration that does not fit the parameters.
    #[error(transparent)]
    Config(ConfigError),
    /// Failed call after which some devices have changed and others have not.
    #[error(
        "the devices of the model no longer fit together: {cause}; start again from a checkpoint"
    )]
    Apart {
        /// First error.
        cause: String,
    },
}

impl<E> From<E> for ModelParallelError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

impl<E: Error> Error for ModelParallelError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(source) | Self::OnDevice { source, .. } => source.kind(),
            Self::DifferentDevices { .. }
            | Self::GradientDevice { .. }
            | Self::OtherDevices { .. } => ErrorKind::Mismatch,
            Self::Mismatch(error) => error.kind(),
            Self::Config(error) => error.kind(),
            Self::NoDevice { .. } | Self::NotUnscaled => ErrorKind::InvalidArgument,
            Self::GroupDevices { .. } => ErrorKind::Unsupported,
            Self::Apart { .. } => ErrorKind::DeviceLost,
        }
    }
}
