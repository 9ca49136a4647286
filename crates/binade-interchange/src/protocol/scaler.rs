//! Scaler: a scale, a tracker, and each optimizer's progress.

use super::live::{Live, reciprocal};
use super::stage::{Progress, Stage};
use super::{NewScale, ProtocolError, StateDict, Verdict, slices};
use binade_core::Element;
use std::collections::BTreeMap;

/// Scaler with the rules of torch's `GradScaler`, to the bit; see the [module](super) for the consequences.
#[derive(Clone, Debug)]
pub struct ProtocolScaler {
    /// Factors, interval and scale to start from. Like torch's setters, a change checks nothing.
    pub config: StateDict,
    live: Option<Live>,
    optimizers: BTreeMap<u64, Progress>,
}

impl ProtocolScaler {
    /// Makes a scaler that has scaled nothing yet. Each optimizer has a number of the caller's choosing.
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

    /// Returns the scale, or the one to start from, as torch's `get_scale`.
    pub fn get_scale(&self) -> f64 {
        self.current().map_or(self.config.scale, f64::from)
    }

    /// Number of good updates since the scale last changed.
    fn growth_tracker(&self) -> i64 {
        self.live.map_or(self.config.growth_tracker, |live| live.tracker)
    }

    /// Flag recorded for `optimizer` in this iteration; `None` if no gradient was looked at.
    pub fn found(&self, optimizer: u64) -> Option<f32> {
        self.progress(optimizer).found
    }

    /// Scales a loss without dimensions. Two operands of no dimension promote, so that the result is `f32` for `f16` too.
    ///
    /// # Errors
    ///
    /// At the first use, if the initial scale is finite but outside `f32`.
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

    /// Unscales an optimizer's gradients in place. Returns true if one was not finite.
    ///
    /// `None` is a parameter without a gradient. If all are `None`, nothing is recorded, and yet the stage moves on.
    ///
    /// # Errors
    ///
    /// If the call is out of order, or gradients are `f16`; no gradient was touched then.
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
    /// If the call is out of order, without calling `look`, or if `look` fails; the stage stays as it was.
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

    /// Decides on an optimizer's step, unscaling its gradients first unless that was done.
    ///
    /// # Errors
    ///
    /// If the call is out of order, gradients are `f16`, or there is not one gradient.
    pub fn step<E: Element>(
        &mut self,
        optimizer: u64,
        grads: &mut [Option<&mut [E]>],
    ) -> Result<Verdict, ProtocolError> {
        self.step_with(optimizer, |inverse| slices::unscale(grads, inverse))
    }

    /// Decides on a step with gradients of any kind. `look` is as in [`unscale_with`](Self::unscale_with), and is called only if
    /// they were not unscaled yet.
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
    /// If there was no `scale` yet, or no optimizer looked at a gradient; stages stay as they are then.
    pub fn update(&mut self) -> Result<(), ProtocolError> {
        let live = self.need("update")?;
        let mut found = self.optimizers.values().filter_map(|progress| progress.found).peekable();
        found.peek().ok_or(ProtocolError::NothingToUpdate)?;
        let overflowed = found.any(|found| Verdict::of(found) == Verdict::Skip);
        self.live = Some(live.next(&self.config, overflowed));
        self.optimizers.clear();
        Ok(())
    }

    /// Ends the iteration with this scale, whatever was found, and keeps the tracker, as torch's `update(new_scale)`.
    ///
    /// # Errors
    ///
    /// If there was no `scale` yet, or torch refuses the value; stages stay as they are then.
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

    /// Takes over a saved state; like torch this checks no factor, and leaves the stages as they are.
    ///
    /// # Errors
    ///
    /// If the scale is finite but outside `f32`, and the scaler is already set up. The scale to start from is changed by then and
    /// nothing else, as in torch.
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
