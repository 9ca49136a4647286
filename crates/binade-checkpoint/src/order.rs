//! Points in a step at which no checkpoint can be made.
//!
//! The first program compiles and runs. Each program below it must not compile, for the reason that its error code names. With the outcome of an
//! earlier step, a checkpoint can be begun anywhere; [`Draft::finish`](crate::Draft::finish) then detects values in flight at run time.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let step = scaler.update(step)?.resolve()?;
//! let after = Draft::after(&step).scaler("loss", &scaler)?.optimizer("model", &optimizer)?;
//! let checkpoint = after.finish()?;
//!
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let within = Draft::within("window", &window)?.scaler("loss", &scaler)?;
//! within.optimizer("model", &optimizer)?.finish()?;
//! let _grads = window.finish()?.expect("a micro-batch");
//!
//! let mut restore = checkpoint.restore();
//! restore.scaler("loss", &mut scaler)?;
//! restore.optimizer("model", &mut optimizer)?;
//! restore.finish()?;
//! let scaled = scaler.scale(&loss)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A checkpoint of a scaled loss
//!
//! The gradients do not exist yet, and files do not hold losses.
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let scaled = scaler.scale(&loss)?;
//! let draft = Draft::after(&scaled).scaler("loss", &scaler)?.optimizer("model", &optimizer)?;
//! let checkpoint = draft.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A checkpoint of scaled gradients
//!
//! Pass them to a step, or to a window, whose sum a checkpoint holds.
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let scaled = scaler.scale(&loss)?.backward(backward)?;
//! let draft = Draft::within("window", &scaled)?.scaler("loss", &scaler)?;
//! let checkpoint = draft.optimizer("model", &optimizer)?.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A checkpoint of unscaled gradients
//!
//! A finished window is such a value too. Save the window before it is finished.
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let grads = window.finish()?.expect("a micro-batch");
//! let checkpoint = Draft::within("window", &grads)?.scaler("loss", &scaler)?.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A checkpoint of a pending step
//!
//! Parameters have changed, but the scale has not: a run resumed from there would differ.
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let checkpoint = Draft::after(&step).scaler("loss", &scaler)?.finish()?;
//! let step = scaler.update(step)?.resolve()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A checkpoint of an unresolved outcome
//!
//! Resolve it first: a checkpoint reads the device anyway.
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let outcome = scaler.update(step)?;
//! let checkpoint = Draft::after(&outcome).scaler("loss", &scaler)?.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A scaler that is used while it is being restored
//!
//! Nothing is restored before `finish`, so nothing may be scaled before it.
//!
//! ```compile_fail,E0502
#![doc = include_str!("order_prelude.md")]
//! let checkpoint = Draft::fresh().scaler("loss", &scaler)?.finish()?;
//! let mut restore = checkpoint.restore();
//! restore.scaler("loss", &mut scaler)?;
//! let scaled = scaler.scale(&loss)?;
//! restore.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
