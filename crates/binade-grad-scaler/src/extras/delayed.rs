//! Several losses under one scale, unscaled once at the end: Apex's `delay_unscale`.

use crate::step::pending::{Origin, Part, SUM};
use crate::step::scaled::Shared;
use crate::{GradOps, GradScaler, Loss, ScaledGrads, Scaler, UnscaledGrads};
use binade_core::MergeRule;
use std::sync::Arc;

impl<D: GradScaler> Scaler<D> {
    /// Opens a window for gradients that the framework itself adds up while they are scaled, as `.grad` buffers do.
    ///
    /// If each backward pass returns a separate set, use [`accumulate`](Self::accumulate), which is exact under any change of the scale and leaves
    /// bad micro-batches out, or [`sum_scaled`](Self::sum_scaled), which divides once for all passes.
    pub fn delay_unscale(&self) -> DelayedUnscale<D> {
        DelayedUnscale { held: Held::of(self), has_passes: false }
    }

    /// Opens a window that adds up scaled gradients in `f32`, and divides the sum by the scale once.
    pub fn sum_scaled(&self) -> ScaledSum<D> {
        ScaledSum { held: Held::of(self), sum: None, parts: Vec::new() }
    }
}

/// The scale that was in force when a window opened: all its losses are multiplied by it.
struct Held<D: GradScaler> {
    scale: D::Scale,
    shared: Arc<Shared<D>>,
    /// Origin of the last scaled loss, or of the window if there is none yet.
    of: Origin,
}

impl<D: GradScaler> Held<D> {
    fn of(scaler: &Scaler<D>) -> Self {
        let (scale, shared) = (scaler.scale.clone(), scaler.shared.clone());
        let of = shared.iterations.now();
        Self { scale, shared, of }
    }

    fn times<L: Loss<D>>(&mut self, loss: &L) -> Result<L, L::Error> {
        self.shared.check_dropped()?;
        let scaled = loss.scaled(&self.shared.device, &self.scale)?;
        self.of = self.shared.iterations.now();
        Ok(scaled)
    }
}

/// A window of backward passes whose gradients the framework adds up while they are scaled.
///
/// # Contract
///
/// * It uses one scale from its first loss to its last, even if updates of other losses change the scaler in between: a buffer never mixes gradients
///   under two scales. Apex asks for a constant scale and enforces nothing.
/// * The gradients are unscaled once, at the end, by that scale.
/// * They are summed as the framework sums: an infinity of any pass stays in its buffer and skips the window, and where
///   buffers have sixteen bits, sums have too.
///
/// The buffers must be empty when the window opens: earlier gradients, under whatever scale, would count as the window's.
///
/// # Examples
///
/// Each mistake stands beside the right order, as in [`order`](crate::order).
///
/// ## Adding gradients made under another scale
///
/// A window's losses are scaled by the window, so that one scale is in all of its gradients.
///
#[doc = order!(
    "let mut window = scaler.sum_scaled();"
    "window.backward(&loss, backward)?;"
    "window.backward(&loss, backward)?;"
    r#"let grads = window.unscale()?.expect("two passes");"#,
    "compile_fail,E0599":
    "let mut window = scaler.sum_scaled();"
    "window.backward(&loss, backward)?;"
    "window.add(scaler.scale(&loss)?.backward(backward)?)?;"
    r#"let grads = window.unscale()?.expect("two passes");"#,
)]
///
/// ## Stepping with gradients whose unscaling was delayed
///
/// Gradients that the framework has added up are still scaled when they are collected.
///
#[doc = order!(
    "let mut buffer = Vec::new();"
    "let mut window = scaler.delay_unscale();"
    "window.backward(&loss, |scaled| backward(scaled).map(|grads| buffer = grads))?;"
    r#"let step = window.collect(|| Ok(buffer))?.expect("a pass").unscale()?.step(&mut optimizer)?;"#
    "scaler.update(step)?.ignore();",
    "compile_fail,E0599":
    "let mut buffer = Vec::new();"
    "let mut window = scaler.delay_unscale();"
    "window.backward(&loss, |scaled| backward(scaled).map(|grads| buffer = grads))?;"
    r#"let step = window.collect(|| Ok(buffer))?.expect("a pass").step(&mut optimizer)?;"#
    "scaler.update(step)?.ignore();",
)]
///
/// ## A backward pass after the window was collected
///
/// `collect` consumes the window: later gradients would be in the next window's sum.
///
#[doc = order!(
    "let mut window = scaler.delay_unscale();"
    "window.backward(&loss, |scaled| backward(scaled).map(drop))?;"
    r#"let grads = window.collect(|| backward(&loss))?.expect("a pass").unscale()?;"#,
    "compile_fail,E0382":
    "let mut window = scaler.delay_unscale();"
    r#"let grads = window.collect(|| backward(&loss))?.expect("a pass").unscale()?;"#
    "window.backward(&loss, |scaled| backward(scaled).map(drop))?;",
)]
///
/// ## Clipping a sum that is still scaled
///
/// A limit is in the loss's own units.
///
#[doc = order!(
    "let mut window = scaler.sum_scaled();"
    "window.backward(&loss, backward)?;"
    r#"let grads = window.unscale()?.expect("a pass").clip_norm(1.0)?;"#,
    "compile_fail,E0599":
    "let mut window = scaler.sum_scaled();"
    "window.backward(&loss, backward)?;"
    r#"let grads = window.clip_norm(1.0)?.unscale()?.expect("a pass");"#,
)]
#[must_use = "a window that is not collected applies nothing"]
pub struct DelayedUnscale<D: GradScaler> {
    held: Held<D>,
    has_passes: bool,
}

impl<D: GradScaler> DelayedUnscale<D> {
    /// Scales a loss by the window's scale, and runs the framework's backward pass, which adds to the framework's buffers.
    ///
    /// # Errors
    ///
    /// The errors of [`Scaler::scale`], and those of `run`. After an error of `run` the buffers may have a part of its gradients.
    pub fn backward<L, F>(&mut self, loss: &L, run: F) -> Result<(), L::Error>
    where
        L: Loss<D>,
        F: FnOnce(&L) -> Result<(), L::Error>,
    {
        run(&self.held.times(loss)?)?;
        self.has_passes = true;
        Ok(())
    }

    /// Closes the window: `take` takes the gradients out of the framework's buffers. `None`, without calling it, if no
    /// backward pass ran.
    ///
    /// # Errors
    ///
    /// The errors of `take`.
    pub fn collect<F>(self, take: F) -> Result<Option<ScaledGrads<D>>, D::Error>
    where
        F: FnOnce() -> Result<D::Grads, D::Error>,
    {
        if !self.has_passes {
            return Ok(None);
        }
        let Held { scale, shared, of } = self.held;
        Ok(Some(ScaledGrads::new(take()?, scale, shared, of)))
    }
}

/// A window that sums scaled gradients in `f32`.
///
/// # Contract
///
/// * It holds one scale, as [`DelayedUnscale`] does, and the sum is divided by it once.
/// * A pass that overflowed adds nothing, is named in the report, and skips the window.
/// * A sum that is not finite, before or after it is divided, skips too: the report has it as the part `sum`.
#[must_use = "a window that is not unscaled applies nothing"]
pub struct ScaledSum<D: GradScaler> {
    held: Held<D>,
    sum: Option<(D::Grads, D::Found)>,
    parts: Vec<Part<D>>,
}

impl<D: GradOps> ScaledSum<D> {
    /// Scales a loss by the window's scale, runs the backward pass and adds its gradients, still scaled.
    ///
    /// # Errors
    ///
    /// The errors of [`Scaler::scale`] and of `run`, after which the window can continue. If the device fails, or the set differs from the earlier
    /// ones. The sum is lost then, and the window ends as `None`, even if more is added.
    pub fn backward<L, F>(&mut self, loss: &L, run: F) -> Result<(), L::Error>
    where
        L: Loss<D>,
        F: FnOnce(&L) -> Result<D::Grads, L::Error>,
    {
        let mut grads = run(&self.held.times(loss)?)?;
        let Held { shared, of, .. } = &self.held;
        let found = shared.device.unscale(&mut grads, &shared.one)?;
        let so_far = self.sum.take();
        let gone = so_far.is_none() && !self.parts.is_empty();
        let (name, of) = (format!("pass {}", self.parts.len()), Some(*of));
        self.parts.push(Part { name, found: found.clone(), of, skips: true });
        let (so_far, verdict) = match so_far {
            _ if gone => return Ok(()),
            None => (None, found.clone()),
            Some((sum, mut verdict)) => {
                shared.device.merge(&mut verdict, &found, MergeRule::Any)?;
                (Some(sum), verdict)
            }
        };
        self.sum = Some((shared.device.accumulate(so_far, grads, &found)?, verdict));
        Ok(())
    }

    /// Closes the window and divides the sum by the scale, looking at it before and after; `None` if nothing was added, or
    /// the sum was lost to an error.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn unscale(mut self) -> Result<Option<UnscaledGrads<D>>, D::Error> {
        let Some((mut grads, mut verdict)) = self.sum else { return Ok(None) };
        let Held { scale, shared, of } = self.held;
        let found = shared.device.unscale(&mut grads, &scale)?;
        shared.device.merge(&mut verdict, &found, MergeRule::Any)?;
        // One scale applies to every part, and to the sum.
        self.parts.push(Part { name: SUM.into(), found, of: Some(of), skips: true });
        let mut sum = UnscaledGrads::new(grads, verdict, shared, of);
        sum.parts = self.parts;
        Ok(Some(sum))
    }
}
