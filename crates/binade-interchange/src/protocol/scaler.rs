//! Scaler with a scale, a growth tracker, and each optimizer's progress.

use super::live::{Live, reciprocal};
use super::stage::{Progress, Stage};
use super::{NewScale, ProtocolError, StateDict, Verdict, slices};
use binade_core::Element;
use std::collections::BTreeMap;

/// Scaler with the rules of torch's `GradScaler`, to the bit; see the [module](super) for the consequences.
#[derive(Clone, Debug)]
pub struct ProtocolScaler {
    /// Factors, interval and initial scale. As with torch's setters, changes are not checked.
    pub config: StateDict,
    live: Option<Live>,
    optimizers: BTreeMap<u64, Progress>,
}

impl ProtocolScaler {
    /// Makes a scaler that has scaled nothing yet. The caller chooses a number for each optimizer.
    ///
    /// # Errors
    ///
    /// If the growth factor is 1 or below, or the backoff factor 1 or above.
    pub fn new(config: StateDict) -> Result<Self, ProtocolError> {
        config.check()?;
        Ok(Self { config, live: None, optimizers: BTreeMap::new() })
    }

    /// Returns the scale; `None` until something was scaled.
    pub fn current(&self) -> Option<f32> {
        self.live.map(|live| live.scale)
    }

    /// Returns the scale, or the initial scale before the first use, like torch's `get_scale`.
    pub fn get_scale(&self) -> f64 {
        self.current().map_or(self.config.scale, f64::from)
    }

    /// Returns the number of good updates since the scale last changed.
    fn growth_tracker(&self) -> i64 {
        self.live.map_or(self.config.growth_tracker, |live| live.tracker)
    }

    /// Returns the flag recorded for `optimizer` in this iteration; `None` if no gradient was checked.
    pub fn found(&self, optimizer: u64) -> Option<f32> {
        self.progress(optimizer).found
    }

    /// Scales a zero-dimensional loss. Two zero-dimensional operands promote, so the result is `f32` for `f16` too.
    ///
    /// # Errors
    ///
    /// Returns an error at the first use if the initial scale is finite but outside `f32`.
    pub fn scale<E: Element>(&mut self, loss: E) -> Result<f32, ProtocolError> {
        Ok(loss.to_f32() * self.set_up()?)
    }

    /// Scales outputs that have dimensions, in place: `f16` stays `f16`, and may overflow.
    ///
    /// # Errors
    ///
    /// The errors of [`scale`](Self::scale).
    pub fn scale_slice<E: Element>(&mut self, outputs: &mut [E]) -> Result<(), ProtocolError> {
        slices::scale(outputs, self.set_up()?);
        Ok(())
    }

    /// Unscales an optimizer's gradients in place. Returns true if a gradient was not finite.
    ///
    /// `None` is a parameter without a gradient. If all are `None`, nothing is recorded, but the stage still advances.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is out of order, or if gradients are `f16`. Gradients are then unchanged.
    pub fn unscale<E: Element>(
        &mut self,
        optimizer: u64,
        grads: &mut [Option<&mut [E]>],
    ) -> Result<bool, ProtocolError> {
        self.unscale_with(optimizer, |inverse| slices::unscale(grads, inverse))
    }

    /// Unscales gradients of any kind: `look` multiplies them by the number it is given and returns the sum of its flags, or
    /// `None` if there was no gradient.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is out of order, without calling `look`, or if `look` fails. The stage stays unchanged.
    pub fn unscale_with(
        &mut self,
        optimizer: u64,
        look: impl FnOnce(f32) -> Result<Option<f32>, ProtocolError>,
    ) -> Result<bool, ProtocolError> {
        let scale = self.need("unscale_")?.scale;
        self.progress(optimizer).may_unscale(optimizer)?;
        let found = look(reciprocal(scale))?;
        self.optimizers.insert(optimizer, Progress { stage: Stage::Unscaled, found });
        Ok(found.is_some_and(|found| Verdict::of(found) == Verdict::Skip))
    }

    /// Returns the verdict on an optimizer's step, and first unscales its gradients unless that was done.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is out of order, if gradients are `f16`, or if there is no gradient.
    pub fn step<E: Element>(
        &mut self,
        optimizer: u64,
        grads: &mut [Option<&mut [E]>],
    ) -> Result<Verdict, ProtocolError> {
        self.step_with(optimizer, |inverse| slices::unscale(grads, inverse))
    }

    /// Returns the verdict on a step with gradients of any kind. `look` is as in [`unscale_with`](Self::unscale_with), and is called only if they
    /// were not unscaled yet.
    ///
    /// # Errors
    ///
    /// The errors of [`step`](Self::step), and those of `look`.
    pub(super) fn step_with(
        &mut self,
        optimizer: u64,
        look: impl FnOnce(f32) -> Result<Option<f32>, ProtocolError>,
    ) -> Result<Verdict, ProtocolError> {
        self.need("step")?;
        let progress = self.progress(optimizer);
        progress.may_step(optimizer)?;
        if progress.stage == Stage::Ready {
            self.unscale_with(optimizer, look)?;
        }
        let found = self.found(optimizer).ok_or(ProtocolError::NothingChecked { optimizer })?;
        self.optimizers.insert(optimizer, Progress { stage: Stage::Stepped, found: Some(found) });
        Ok(Verdict::of(found))
    }

    /// Ends the iteration: backs off once if any optimizer overflowed, otherwise counts one good update, and makes every call
    /// legal again.
    ///
    /// # Errors
    ///
    /// Returns an error if there was no `scale` yet, or if no gradient was checked. Stages then stay unchanged.
    pub fn update(&mut self) -> Result<(), ProtocolError> {
        let live = self.need("update")?;
        let mut found = self.optimizers.values().filter_map(|progress| progress.found).peekable();
        found.peek().ok_or(ProtocolError::NothingToUpdate)?;
        let overflowed = found.any(|found| Verdict::of(found) == Verdict::Skip);
        self.live = Some(live.next(&self.config, overflowed));
        self.optimizers.clear();
        Ok(())
    }

    /// Ends the iteration with this scale, regardless of overflows, and keeps the growth tracker, like torch's `update(new_scale)`.
    ///
    /// # Errors
    ///
    /// Returns an error if there was no `scale` yet, or if torch refuses the value. Stages then stay unchanged.
    pub fn set_scale(&mut self, new: NewScale) -> Result<(), ProtocolError> {
        let live = self.need("update")?;
        self.live = Some(Live { scale: new.stored()?, ..live });
        self.optimizers.clear();
        Ok(())
    }

    /// Returns the state to save; call this after `update`.
    pub fn state_dict(&self) -> StateDict {
        let (scale, growth_tracker) = (self.get_scale(), self.growth_tracker());
        StateDict { scale, growth_tracker, ..self.config }
    }

    /// Loads a saved state. As in torch, factors are not checked, and stages stay unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the scale is finite but outside `f32`, and the scaler is already set up. As in torch, only the initial scale has then
    /// changed.
    pub fn load_state_dict(&mut self, state: &StateDict) -> Result<(), ProtocolError> {
        self.config.scale = state.scale;
        if let Some(live) = &mut self.live {
            *live = Live::new(state)?;
        }
        self.config = *state;
        Ok(())
    }

    fn set_up(&mut self) -> Result<f32, ProtocolError> {
        let live = match self.live {
            Some(live) => live,
            None => Live::new(&self.config)?,
        };
        self.live = Some(live);
        Ok(live.scale)
    }

    fn need(&self, call: &'static str) -> Result<Live, ProtocolError> {
        self.live.ok_or(ProtocolError::NeverScaled { call })
    }

    fn progress(&self, optimizer: u64) -> Progress {
        self.optimizers.get(&optimizer).copied().unwrap_or_default()
    }
}
