//! State of a scaler in a checkpoint of another library: read, carried on here, and written back.

mod apex;
mod deepspeed;
mod deepspeed_fused;
mod dictionary;
mod error;
mod fields;
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

use binade_grad_scaler::{LossScale, ScaleState};

/// State of a scaler as a library saves it.
///
/// # For implementers
///
/// * `read` of what `write` gave is the same state.
/// * A key that is missing or of another type is an error that names it, and so is one that is unknown, unless the library
///   saves more beside its scaler.
/// * `read` asks no number what it means: `import` does, and refuses it by value.
pub trait Saved: Sized {
    /// Name of the library in errors.
    const LIBRARY: &'static str;

    /// Reads the state from a dictionary.
    ///
    /// # Errors
    ///
    /// If a key is missing, unknown, or of another type. `import` checks the meaning of the numbers.
    fn read(dictionary: &Dictionary) -> Result<Self, InterchangeError>;

    /// Returns the dictionary that the library loads.
    fn write(&self) -> Dictionary;
}

/// Rule and state that a library's state becomes here, for [`Scaler::new`](binade_grad_scaler::Scaler::new) and
/// [`Scaler::set_state`](binade_grad_scaler::Scaler::set_state).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Imported {
    /// Rule, which starts at the imported scale.
    pub rule: LossScale,
    /// Scale and its counters.
    pub state: ScaleState,
    /// Differences from the other library; empty if there are none.
    pub notes: Vec<Note>,
}

/// State that a library can load, made of a rule and a state.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Exported<S> {
    /// Keys that it loads.
    pub saved: S,
    /// Differences in what the library will do; empty if there are none.
    pub notes: Vec<Note>,
}
