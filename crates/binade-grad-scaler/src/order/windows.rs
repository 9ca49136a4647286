//! Orders of an accumulation window that do not compile, each beside the right one, as in [`order`](super).
//!
//! # Accumulating before unscaling
//!
//! A window adds gradients in the loss's own units, so that the scale may move inside it.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0308
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Stepping an open window
//!
//! A window steps when it is finished, once.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let step = window.finish()?.expect("a micro-batch").step(&mut optimizer)?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let step = window.step(&mut optimizer)?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Adding to a finished window
//!
//! `finish` consumes it: what came later would have missed the step.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let grads = window.finish()?.expect("a micro-batch");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! let grads = window.finish()?.expect("a micro-batch");
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Clipping an open window
//!
//! The norm is of the sum, which is there when the window is finished.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let grads = window.finish()?.expect("a micro-batch").clip_norm(1.0)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;
//! let grads = window.clip_norm(1.0)?.finish()?.expect("a micro-batch");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Adding gradients that were stepped with
//!
//! A micro-batch goes into a window or into a step, once.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! window.add(grads)?;
//! let step = more.step(&mut optimizer)?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.accumulate(BadMicroBatch::Drop);
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let step = more.step(&mut optimizer)?;
//! window.add(more)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
