//! Orders that do not compile, each beside the right one, and the errors of wrong orders that do compile.
//!
//! | mistake | who tells | in which words |
//! |---|---|---|
//! | `unscale` left out before `step` | compiler, E0277 | these gradients are still scaled: call `.unscale()?` first |
//! | clipping before `unscale` | compiler, E0277 | the same |
//! | stepping twice with the same gradients | compiler, E0382 | use of moved value |
//! | `update` left out, the step bound to a name | run, at the next `scale`; compiler, a warning | step 1 never reached `Scaler::update`; unused variable |
//! | `update` left out, the step bound to nothing | compiler, `unused_must_use`; run, at the next `scale` | the scale does not move until this reaches `Scaler::update` |
//! | `let _ = ….step(…)?` | run, at the next `scale` | step 1 never reached `Scaler::update` |
//! | `resolve` left out | compiler, `unused_must_use` | a skipped step is silent until resolved |
//! | `update(step)?.resolve()?;` | compiler, `unused_must_use` | a skipped step, or a run that has diverged, is silent until this is looked at |
//! | `update` on another scaler | run, at that `update` | the step holds gradients of a loss that another scaler has scaled |
//! | an `update` for each of two optimizers, both losses scaled before | run, at the second | all scaled before the last `Scaler::update`: join the steps of one iteration with `.and()` |
//! | torch's `update()` | compiler, E0061 | argument #1 of type `PendingStep` is missing |
//! | `scale(loss)` by value | compiler, E0308 | consider borrowing here |
//! | a backward pass that ignores the scaled loss | run, where [`Scaler::verify_backward`](crate::Scaler::verify_backward) is called | backward does not differentiate the scaled loss |
//! | torch's `scaler.step(…)`, `scaler.unscale_(…)`, `grads.unscale_()` | compiler, E0277 and E0599 | gradients are unscaled and stepped with, and not the scaler; there is a method `unscale` with a similar name |
//!
//! Two mistakes are not found. One is an `update` for each of two optimizers where each loss is scaled after the update before: the
//! scaler counts two iterations. The other is to leave out `update` after the last step of a run, since no `scale` follows. The count of
//! updates in [`Scaler::state`](crate::Scaler::state) shows both.
//!
//! Every pair below is two doc tests: the first compiles and runs, the second differs in its order alone and must not
//! compile, for the reason that its error code names. (What is forgotten has no code: `unused_must_use` is denied.)
//!
//! # Unscaling what was never differentiated
//!
//! A scaled loss has no gradients yet; only `backward` gives them.
//!
#![doc = order!(
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;",
    "compile_fail,E0599":
    "let grads = scaler.scale(&loss)?.unscale()?;",
)]
//!
//! # Backward twice from one loss
//!
//! `backward` consumes the loss, so that its gradients enter once.
//!
#![doc = order!(
    "let (first, second) = (scaler.scale(&loss)?, scaler.scale(&loss)?);"
    "let grads = (first.backward(backward)?.unscale()?, second.backward(backward)?.unscale()?);",
    "compile_fail,E0382":
    "let first = scaler.scale(&loss)?;"
    "let grads = (first.backward(backward)?.unscale()?, first.backward(backward)?.unscale()?);",
)]
//!
//! # Unscaling twice
//!
//! Torch raises at run time; here the second call does not exist.
//!
#![doc = order!(
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;",
    "compile_fail,E0599":
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?.unscale()?;",
)]
//!
//! # Unscaling the same gradients twice, by name
//!
//! `unscale` consumes the scaled gradients.
//!
#![doc = order!(
    "let scaled = scaler.scale(&loss)?.backward(backward)?;"
    "let again = scaler.scale(&loss)?.backward(backward)?;"
    "let grads = (scaled.unscale()?, again.unscale()?);",
    "compile_fail,E0382":
    "let scaled = scaler.scale(&loss)?.backward(backward)?;"
    "let again = scaler.scale(&loss)?.backward(backward)?;"
    "let grads = (scaled.unscale()?, scaled.unscale()?);",
)]
//!
//! # Clipping before unscaling
//!
//! A limit of 1 on gradients that are 65536 times too large clips everything. The compiler says to call `unscale` first.
//!
#![doc = order!(
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;",
    "compile_fail,E0277":
    "let grads = scaler.scale(&loss)?.backward(backward)?.clip_norm(1.0)?.unscale()?;",
)]
//!
//! # Stepping before unscaling
//!
//! An optimizer never sees scaled gradients. The compiler says to call `unscale` first.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0277":
    "let step = scaler.scale(&loss)?.backward(backward)?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
)]
//!
//! # Stepping the scaler
//!
//! torch's `scaler.step(optimizer)`: gradients step here, and the compiler says how.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0277":
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "scaler.step(&mut optimizer)?;",
)]
//!
//! # Stepping twice with the same gradients
//!
//! `step` consumes them.
//!
#![doc = order!(
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let step = grads.step(&mut optimizer)?.and(more.step(&mut optimizer)?);"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0382":
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let step = grads.step(&mut optimizer)?.and(grads.step(&mut optimizer)?);"
    "scaler.update(step)?.ignore();",
)]
//!
//! # Clipping after the step
//!
//! There is nothing left to clip.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0599":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?.clip_norm(1.0)?;"
    "scaler.update(step)?.ignore();",
)]
//!
//! # Updating before the step
//!
//! `update` takes the step as its argument.
//!
#![doc = order!(
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let step = grads.step(&mut optimizer)?;"
    "let outcome = scaler.update(step)?;",
    "compile_fail,E0308":
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let outcome = scaler.update(grads)?;"
    "let step = grads.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
)]
//!
//! # Updating twice for one step
//!
//! `update` consumes it. Two steps of one iteration are joined: a second update for what was scaled before the first is refused
//! at run time, as [`SecondUpdate`](binade_core::OrderError::SecondUpdate).
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(more)?.ignore();",
    "compile_fail,E0382":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
)]
//!
//! # Joining after the update
//!
//! One update counts one iteration: its steps are joined before it.
//!
#![doc = order!(
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(first.and(second))?.ignore();",
    "compile_fail,E0599":
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(first)?.and(second).ignore();",
)]
//!
//! # Forgetting the update
//!
//! With `unused_must_use` denied, a step that is bound to no name does not compile. A step that is bound but never reaches `update` compiles with a
//! warning of an unused variable, and the next `scale` is an error: [`NeverUpdated`](binade_core::OrderError::NeverUpdated).
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail":
    "scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "// `scaler.update(step)?.ignore();` is missing.",
)]
//!
//! # Forgetting the outcome
//!
//! A program that does not need the outcome must discard it explicitly.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?;",
)]
//!
//! # Resolving before the update
//!
//! Only `update` knows the scale after, and whether the run diverged.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let happened = scaler.update(step)?.resolve()?;",
    "compile_fail,E0599":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let happened = step.resolve()?;",
)]
//!
//! # Dropping what an outcome says
//!
//! Divergence would be silent otherwise: a resolved step must be used.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    r#"let report = scaler.update(step)?.resolve()?.unless_diverged().expect("a run that converges");"#
    r#"assert!(!report.is_remarkable(), "{report}");"#,
    "compile_fail":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "scaler.update(step)?.resolve()?;",
)]
//!
//! # Resolving twice
//!
//! An outcome is read once: keep the result if you need it again.
//!
#![doc = order!(
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let outcome = scaler.update(step)?;"
    "let happened = outcome.resolve()?;"
    "let again = happened.clone();",
    "compile_fail,E0382":
    "let step = scaler.scale(&loss)?.backward(backward)?.unscale()?.step(&mut optimizer)?;"
    "let outcome = scaler.update(step)?;"
    "let happened = outcome.resolve()?;"
    "let again = outcome.resolve()?;",
)]
//!
//! Orders of windows stand with [`Accumulation`](crate::Accumulation), and with [`DelayedUnscale`](crate::DelayedUnscale) for
//! gradients that are unscaled at the end; [`LinkedGrads`](crate::LinkedGrads) has steps that share their fate, and
//! [`UnscaledGrads::step`](crate::UnscaledGrads::step) the step that evaluates its loss again.
