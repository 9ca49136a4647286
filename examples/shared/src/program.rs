//! Parts of a program that trains at the levels and on the devices that its command line names.

mod device;
mod levels;
mod outcomes;
pub mod parse;
mod progress;
pub mod table;

pub use device::{DeviceKind, OnDevice, Trains, not_built, open};
pub use levels::{Levels, Setting, is_scaled, properties, settings};
pub use outcomes::{Outcomes, Steps};
pub use progress::progress;

/// Result of a program's parts. The error is the message of the code that noticed it.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
