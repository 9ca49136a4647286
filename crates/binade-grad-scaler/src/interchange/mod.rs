//! The scaler's state in a checkpoint of another library: read, carried on here, and written back.
//!
//! A checkpoint of torch, Apex, DeepSpeed, Keras or Paddle holds its scaler as a dictionary. [`Dictionary`] is read from any
//! format by the feature `serde`, or filled by hand; a [`Saved`] state is read from it, which names each key that is
//! missing, unknown or of another type. From there on:
//!
//! * `import` gives [`Imported`]: the rule, the state and what is not quite as it was there. The next update moves the scale
//!   where the library would have moved it.
//! * `export` gives [`Exported`]: the keys that the library loads, and what it will not do.
//!
//! # What is carried over
//!
//! * A scale that is a power of two is kept exactly. Any other keeps its significand, and is noted: scaling by it is not
//!   exact.
//! * Factors must be powers of two, since rules move the exponent only. Another one is an error that names it, never a
//!   rule that is only nearly the same. [`ProtocolScaler`](crate::protocol::ProtocolScaler) takes any of torch's.
//! * No library saves how many updates there were, overflowed and were skipped, but DeepSpeed the first of these: what is
//!   not saved starts at 0.
//! * Limits and patience are this crate's. What is imported has the library's floor and ceiling, those of exact scales
//!   where it has none, and the patience of [`LossScale::dynamic`](crate::LossScale::dynamic).
//!
//! ```
//! use binade_grad_scaler::interchange::{Dictionary, Saved, Value};
//! use binade_grad_scaler::protocol::StateDict;
//!
//! # fn main() -> Result<(), binade_grad_scaler::interchange::InterchangeError> {
//! // With the feature `serde`, from JSON: `serde_json::from_str::<Dictionary>(text)`.
//! let saved: Dictionary = [
//!     ("scale", Value::Number(1024.0)),
//!     ("growth_factor", Value::Number(2.0)),
//!     ("backoff_factor", Value::Number(0.5)),
//!     ("growth_interval", Value::Integer(2000)),
//!     ("_growth_tracker", Value::Integer(17)),
//! ].into();
//!
//! let imported = StateDict::read(&saved)?.import()?;
//! assert_eq!((imported.state.exponent, imported.state.good_steps), (10, 17));
//! assert!(imported.notes.is_empty());
//!
//! let exported = StateDict::export(&imported.rule, &imported.state)?;
//! assert_eq!(exported.saved.write(), saved);
//! # Ok(())
//! # }
//! ```

mod apex;
mod deepspeed;
mod deepspeed_fused;
mod dictionary;
mod error;
mod keras;
mod note;
mod numbers;
mod paddle;
mod rule;
#[cfg(feature = "serde")]
mod serde_value;
#[cfg(test)]
mod tests;
mod torch;
mod value;

pub use apex::{ApexScaler, ApexState};
pub use deepspeed::{DeepSpeedState, FirstGrowth};
pub use deepspeed_fused::DeepSpeedFusedState;
pub use error::InterchangeError;
pub use keras::{KerasState, TfKerasState};
pub use note::Note;
pub use paddle::PaddleState;
pub use value::{Dictionary, Value};

use crate::{LossScale, ScaleState};

/// A scaler's state as a library saves it.
///
/// # For implementers
///
/// * `read` of what `write` gave is the same state.
/// * A key that is missing or of another type is an error that names it, and so is one that is unknown, unless the library
///   saves more beside its scaler.
/// * `read` asks no number what it means: `import` does, and refuses it by value.
pub trait Saved: Sized {
    /// The library, as errors name it.
    const LIBRARY: &'static str;

    /// Takes it from a dictionary.
    ///
    /// # Errors
    ///
    /// A key that is missing, unknown, or of another type. What the numbers mean is looked at by `import`.
    fn read(dictionary: &Dictionary) -> Result<Self, InterchangeError>;

    /// The dictionary that the library loads.
    fn write(&self) -> Dictionary;
}

/// What a library's state becomes here: both go to [`Scaler::new`](crate::Scaler::new) and
/// [`Scaler::set_state`](crate::Scaler::set_state).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Imported {
    /// The rule, which starts at the imported scale.
    pub rule: LossScale,
    /// The scale and its counters.
    pub state: ScaleState,
    /// What is not as it was there; empty where nothing differs.
    pub notes: Vec<Note>,
}

/// What a library can load of a rule and a state.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Exported<S> {
    /// The keys that it loads.
    pub saved: S,
    /// What it will do otherwise; empty where nothing differs.
    pub notes: Vec<Note>,
}
