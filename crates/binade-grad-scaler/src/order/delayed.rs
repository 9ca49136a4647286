//! Orders of a window that is unscaled at the end and that do not compile, each beside the right one, as in
//! [`order`](super).
//!
//! # Adding gradients made under another scale
//!
//! A window's losses are scaled by the window, so that one scale is in all of its gradients.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.sum_scaled();
//! window.backward(&loss, backward)?;
//! window.backward(&loss, backward)?;
//! let grads = window.unscale()?.expect("two passes");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.sum_scaled();
//! window.backward(&loss, backward)?;
//! window.add(scaler.scale(&loss)?.backward(backward)?)?;
//! let grads = window.unscale()?.expect("two passes");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Stepping with gradients whose unscaling was delayed
//!
//! What the framework has added up is still scaled when it is collected.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut buffer = Vec::new();
//! let mut window = scaler.delay_unscale();
//! window.backward(&loss, |scaled| backward(scaled).map(|grads| buffer = grads))?;
//! let step = window.collect(|| Ok(buffer))?.expect("a pass").unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let mut buffer = Vec::new();
//! let mut window = scaler.delay_unscale();
//! window.backward(&loss, |scaled| backward(scaled).map(|grads| buffer = grads))?;
//! let step = window.collect(|| Ok(buffer))?.expect("a pass").step(&mut optimizer)?;
//! scaler.update(step)?.ignore();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # A backward pass after the window was collected
//!
//! `collect` consumes it: what came later would be in the next window's sum.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.delay_unscale();
//! window.backward(&loss, |scaled| backward(scaled).map(drop))?;
//! let grads = window.collect(|| backward(&loss))?.expect("a pass").unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.delay_unscale();
//! let grads = window.collect(|| backward(&loss))?.expect("a pass").unscale()?;
//! window.backward(&loss, |scaled| backward(scaled).map(drop))?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Clipping a sum that is still scaled
//!
//! A limit is in the loss's own units.
//!
//! ```
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.sum_scaled();
//! window.backward(&loss, backward)?;
//! let grads = window.unscale()?.expect("a pass").clip_norm(1.0)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("../order_prelude.md")]
//! let mut window = scaler.sum_scaled();
//! window.backward(&loss, backward)?;
//! let grads = window.clip_norm(1.0)?.unscale()?.expect("a pass");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
