//! Steps that evaluate their loss again do not compile, beside what does, as in [`order`](super).
//!
//! L-BFGS and line searches call a closure inside the step: forward, backward, a loss. Its gradients would come scaled, and
//! with no verdict on them, in the middle of a step that was decided on others; and between two evaluations the scale would
//! have to move for an overflow to end. torch raises "Closure use is not currently supported" for one given by name, and does
//! not see one given by place. Here a step has no place for one: [`Optimizer::step`](binade_core::Optimizer::step) takes
//! gradients and a verdict.
//!
//! What such an optimizer needs is an iteration an evaluation: it keeps its search direction between steps, is given the
//! gradients of one evaluation each time, and moves or does not. Bindings that are handed a closure refuse it with
//! `ProtocolScaler::step_with_closure` of [`binade-interchange`](https://docs.rs/binade-interchange).
//!
//! # A closure for the optimizer
//!
//! Evaluating again is another iteration.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! for _evaluation in 0..2 {
//!     let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//!     let step = grads.step(&mut optimizer)?;
//!     scaler.update(step)?.ignore();
//! }
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0061
#![doc = include_str!("../order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let step = grads.step(&mut optimizer, || scaler.scale(&loss)?.backward(backward))?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
