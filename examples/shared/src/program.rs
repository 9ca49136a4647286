//! Parts of a program that trains at the levels and on the devices that its command line names.

pub mod curve;
mod device;
mod levels;
mod outcomes;
pub mod parse;
#[cfg(feature = "ranks")]
mod part;
mod progress;
pub mod table;
#[cfg(feature = "ranks")]
mod threads;

pub use device::{DeviceKind, OnDevice, Trains, not_built, open};
pub use levels::{Levels, Setting, is_scaled, properties, settings};
pub use outcomes::{Outcomes, Steps};
#[cfg(feature = "ranks")]
pub use part::{Backward, Change, Norm, Part};
pub use progress::progress;
#[cfg(feature = "ranks")]
pub use threads::{PATIENCE, each};

/// Result of a program's parts. The error is the message of the code that noticed it.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
