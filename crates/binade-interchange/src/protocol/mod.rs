//! Dynamic protocol: torch's `GradScaler`, with its stages checked while the program runs.
//!
//! Use it where the compiler cannot check the order of calls: bindings to other languages, trait objects, replays of recorded runs, comparisons with
//! torch. **Programs written in Rust should use the typed order** of [`binade_grad_scaler`] instead, in which the mistakes that [`ProtocolError`]
//! lists do not compile.
//!
//! # It is not exact
//!
//! It follows torch's rules bit for bit, and torch's rules include these:
//!
//! * Any `f32` is a scale: 0, negative, infinite, NaN, and the subnormals whose reciprocal is infinite. Only a power of two is
//!   undone exactly by its reciprocal, and only if the product is in the normal range.
//! * Gradients are checked *before* the multiplication. If the scale is below 1, unscaling may make a finite gradient infinite, and the step is taken
//!   with it.
//! * The scale has no floor. It backs off to 0; every later step is then ruined and none is skipped.
//! * An iteration without any gradient leaves the optimizer unscaled with nothing recorded. Only [`ProtocolScaler::set_scale`] or new gradients for
//!   another optimizer leave that state.
//!
//! # An iteration
//!
//! The scaler owns no tensors. It borrows the gradients as slices, or passes the factor to a closure, and returns a [`Verdict`], which the caller
//! applies.
//!
//! ```
//! use binade_interchange::protocol::{ProtocolScaler, StateDict, Verdict};
//!
//! # fn main() -> Result<(), binade_interchange::protocol::ProtocolError> {
//! let sgd = 0; // a number for each optimizer
//! let mut scaler = ProtocolScaler::new(StateDict { scale: 1024.0, ..Default::default() })?;
//! let mut weight = 1.0_f32;
//!
//! let seed = scaler.scale(1.0_f32)?; // backward of the scaled loss begins with it
//! let mut grad = [2.0 * weight * seed]; // of a loss of weight²
//!
//! if scaler.step(sgd, &mut [Some(&mut grad[..])])? == Verdict::Apply {
//!     weight -= 0.25 * grad[0];
//! }
//! scaler.update()?;
//! assert_eq!(weight, 0.5);
//! # Ok(())
//! # }
//! ```
//!
//! The rules are those of `torch/amp/grad_scaler.py` and the two kernels behind it (`AmpKernels.cu`, `AmpGradScalerKernels.cpp`) of PyTorch 2.15.
//! There is no `enabled` switch: a program without loss scaling has no scaler.

mod error;
mod live;
mod scaler;
mod slices;
mod stage;
mod state;
#[cfg(test)]
mod tests;

pub use error::ProtocolError;
pub use live::NewScale;
pub use scaler::ProtocolScaler;
pub use stage::Verdict;
pub use state::StateDict;
