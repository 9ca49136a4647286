//! The errors that training has on every device, in the same words.

use crate::{Error, ErrorKind, NoGradients, OrderError};
use std::any;

/// An error that training has on every device, in the same words; a device's own error holds it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// A step without gradients.
    #[error(transparent)]
    NoGradients(#[from] NoGradients),
    /// A training loop that uses its scaler wrongly.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// An optional method of a trait, which the device leaves out.
    #[error(
        "`{device}` does not implement the optional `{method}`: go without it, or use a device that implements it"
    )]
    Unsupported {
        /// The device's type.
        device: &'static str,
        /// The trait and its method.
        method: &'static str,
    },
}

impl TrainError {
    /// The error of the optional `method`, which the device `D` leaves out: for the provided methods of traits.
    pub fn unsupported<D: ?Sized>(method: &'static str) -> Self {
        Self::Unsupported { device: any::type_name::<D>(), method }
    }
}

impl Error for TrainError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoGradients(error) => error.kind(),
            Self::Order(error) => error.kind(),
            Self::Unsupported { .. } => ErrorKind::Unsupported,
        }
    }
}
