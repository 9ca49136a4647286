//! Orders that do not compile, each beside the right one.
//!
//! Every pair below is two doc tests: the first compiles and runs, the second differs in its order alone and must not
//! compile, for the reason that its error code names. (What is forgotten has no code: `unused_must_use` is denied.)
//!
//! # Unscaling what was never differentiated
//!
//! A scaled loss has no gradients yet; only `backward` gives them.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Backward twice from one loss
//!
//! `backward` consumes the loss, so that its gradients enter once.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let (first, second) = (scaler.scale(&loss)?, scaler.scale(&loss)?);
//! let grads = (first.backward(backward)?.unscale()?, second.backward(backward)?.unscale()?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?;
//! let grads = (first.backward(backward)?.unscale()?, first.backward(backward)?.unscale()?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Unscaling twice
//!
//! Torch raises at run time; here the second call does not exist.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?.unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Unscaling the same gradients twice, by name
//!
//! `unscale` consumes the scaled gradients.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let scaled = scaler.scale(&loss)?.backward(backward)?;
//! let again = scaler.scale(&loss)?.backward(backward)?;
//! let grads = (scaled.unscale()?, again.unscale()?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("order_prelude.md")]
//! let scaled = scaler.scale(&loss)?.backward(backward)?;
//! let again = scaler.scale(&loss)?.backward(backward)?;
//! let grads = (scaled.unscale()?, scaled.unscale()?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Clipping before unscaling
//!
//! A limit of 1 on gradients that are 65536 times too large clips everything. The compiler says to call `unscale` first.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0277
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.clip_norm(1.0)?.unscale()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Clipping one of several that skip together
//!
//! A norm that is not finite would skip one alone: clip first.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! scaler.update(step)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.clip_norm(1.0)?.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! scaler.update(step)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Sharing a fate after stepping
//!
//! Whether a step is skipped is settled before it is taken.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let (first, second) = (first.step(&mut optimizer)?, second.step(&mut optimizer)?);
//! let [first, second] = UnscaledGrads::skip_together([first, second])?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Stepping before unscaling
//!
//! An optimizer never sees scaled gradients. The compiler says to call `unscale` first.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0277
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Stepping the scaler
//!
//! torch's `scaler.step(optimizer)`: gradients step here, and the compiler says how.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0277
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! scaler.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Stepping twice with the same gradients
//!
//! `step` consumes them.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let step = grads.step(&mut optimizer)?.and(more.step(&mut optimizer)?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let step = grads.step(&mut optimizer)?.and(grads.step(&mut optimizer)?);
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Clipping after the step
//!
//! There is nothing left to clip.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?.clip_norm(1.0)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Updating before the step
//!
//! `update` takes the step it is due for.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let step = grads.step(&mut optimizer)?;
//! let outcome = scaler.update(step)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;
//! let outcome = scaler.update(grads)?;
//! let step = grads.step(&mut optimizer)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Updating twice for one step
//!
//! `update` consumes it. Two steps of one iteration are joined: a second update for what was scaled before the first is refused
//! at run time, as [`SecondUpdate`](binade_core::OrderError::SecondUpdate).
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.leave_unread();
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(more)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.leave_unread();
//! let more = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Joining after the update
//!
//! One update counts one iteration: its steps are joined before it.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(first.and(second))?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let second = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(first)?.and(second).leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Forgetting the update
//!
//! With `unused_must_use` denied, a step that is bound to no name does not compile. One that is bound and never reaches `update`
//! does, with a warning of an unused variable, and the next `scale` is an error:
//! [`NeverUpdated`](binade_core::OrderError::NeverUpdated).
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail
#![doc = include_str!("order_prelude.md")]
//! scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! // `scaler.update(step)?.leave_unread();` is missing.
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Forgetting the outcome
//!
//! Whoever does not want to know whether the step ran says so.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.leave_unread();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Resolving before the update
//!
//! Only `update` knows the scale after, and whether the run diverged.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let happened = scaler.update(step)?.resolve()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0599
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let happened = step.resolve()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Dropping what an outcome says
//!
//! Divergence would be silent in it: a step that is resolved is looked at.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let report = scaler.update(step)?.resolve()?.unless_diverged().expect("a run that converges");
//! assert!(!report.is_remarkable(), "{report}");
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! scaler.update(step)?.resolve()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Resolving twice
//!
//! An outcome is read once: whoever needs it again keeps what it said.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let outcome = scaler.update(step)?;
//! let happened = outcome.resolve()?;
//! let again = happened.clone();
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0382
#![doc = include_str!("order_prelude.md")]
//! let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;
//! let outcome = scaler.update(step)?;
//! let happened = outcome.resolve()?;
//! let again = outcome.resolve()?;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//!
//! # Using a penalty's gradient scaled
//!
//! A gradient that no optimizer owns is a `ScaledTensor` until it is unscaled.
//!
//! ```
#![doc = include_str!("order_prelude.md")]
//! let inputs = scaler.scale(&loss)?.grad(|l| Ok(l.clone()))?.unscale()?;
//! let penalty: &Host = &inputs;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! ```compile_fail,E0308
#![doc = include_str!("order_prelude.md")]
//! let inputs = scaler.scale(&loss)?.grad(|l| Ok(l.clone()))?;
//! let penalty: &Host = &inputs;
//! # Ok::<(), NativeError<Infallible>>(())
//! ```
//!
//! Windows have orders of their own: [`windows`], and [`delayed`] for gradients that are unscaled at the end.
//! [`closures`] has the step that evaluates its loss again.

pub mod closures;
pub mod delayed;
pub mod windows;
