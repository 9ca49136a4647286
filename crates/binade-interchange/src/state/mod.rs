//! The scaler's state in a checkpoint of another library: read, carried on here, and written back.

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

use binade_grad_scaler::{LossScale, ScaleState};

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

/// What a library's state becomes here: both go to [`Scaler::new`](binade_grad_scaler::Scaler::new) and
/// [`Scaler::set_state`](binade_grad_scaler::Scaler::set_state).
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
