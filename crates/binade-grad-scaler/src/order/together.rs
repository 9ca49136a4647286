//! Orders of steps that share their fate.
//!
//! # Clipping one of several that skip together
//!
//! A norm that is not finite would skip one alone: clip first.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.clip_norm(1.0)?.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Sharing a fate after stepping
//!
//! A step's verdict is settled before the step is taken.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0308
#![doc = include_str!("../order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let (first, second) = (first.step(&mut optimizer)?, second.step(&mut optimizer)?);
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
