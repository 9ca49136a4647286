//! The scaler itself: a scale, a tracker, and each optimizer's progress.

use super::live::Live;
use super::stage::Progress;
use super::{NewScale, OptimizerId, ProtocolConfig, ProtocolError, Stage, StateDict, Verdict};
use super::{round, slices};
use binade_core::Element;
use std::collections::BTreeMap;

/// torch's `GradScaler`, to the bit; see the [module](super) for what that costs.
#[derive(Clone, Debug)]
pub struct ProtocolScaler {
    config: ProtocolConfig,
    init_tracker: i64,
    live: Option<Live>,
    optimizers: BTreeMap<OptimizerId, Progress>,
}

impl ProtocolScaler {
    /// A scaler that has scaled nothing yet.
    ///
    /// # Errors
    ///
    /// What [`ProtocolConfig::validate`] refuses.
    pub fn new(config: ProtocolConfig) -> Result<Self, ProtocolError> {
        config.validate()?;
        Ok(Self { config, init_tracker: 0, live: None, optimizers: BTreeMap::new() })
    }

    /// The scale, once something was scaled.
    pub fn current(&self) -> Option<f32> {
        self.live.map(|live| live.scale)
    }

    /// torch's `get_scale`: the scale, or the one to start from.
    pub fn get_scale(&self) -> f64 {
        self.current().map_or(self.config.init_scale, f64::from)
    }

    /// Good updates since the scale last changed.
    pub fn growth_tracker(&self) -> i64 {
        self.live.map_or(self.init_tracker, |live| live.tracker)
    }

    /// Where `optimizer` is in this iteration.
    pub fn stage(&self, optimizer: OptimizerId) -> Stage {
        self.progress(optimizer).stage
    }

    /// The flag recorded for `optimizer` in this iteration; `None` where nothing was looked at.
    pub fn found(&self, optimizer: OptimizerId) -> Option<f32> {
        self.progress(optimizer).found
    }

    /// The factors and the interval as they are now, and the scale that a scaler set up afresh would start from.
    pub fn config(&self) -> &ProtocolConfig {
        &self.config
    }

    /// The same, to be changed; like torch's setters this checks nothing.
    pub fn config_mut(&mut self) -> &mut ProtocolConfig {
        &mut self.config
    }

    /// Scales a loss without dimensions. Two operands of no dimension promote, so that the result is `f32` for `f16` too.
    ///
    /// # Errors
    ///
    /// At the first use, where the initial scale is finite but outside `f32`.
    pub fn scale<E: Element>(&mut self, loss: E) -> Result<f32, ProtocolError> {
        Ok(loss.to_f32() * self.set_up()?)
    }

    /// Scales a loss of torch's `float64`.
    ///
    /// # Errors
    ///
    /// As [`scale`](Self::scale).
    pub fn scale_f64(&mut self, loss: f64) -> Result<f64, ProtocolError> {
        Ok(loss * f64::from(self.set_up()?))
    }

    /// Scales outputs that have dimensions, in place, where `f16` stays `f16` and overflows as it will.
    ///
    /// # Errors
    ///
    /// As [`scale`](Self::scale).
    pub fn scale_slice<E: Element>(&mut self, outputs: &mut [E]) -> Result<(), ProtocolError> {
        slices::scale(outputs, self.set_up()?);
        Ok(())
    }

    /// Unscales an optimizer's gradients in place, and tells whether one was not finite.
    ///
    /// `None` is a parameter without a gradient. Where all are, nothing is recorded, and yet the stage moves on.
    ///
    /// # Errors
    ///
    /// Out of order, or `f16` gradients; nothing was touched then.
    pub fn unscale<E: Element>(
        &mut self,
        optimizer: OptimizerId,
        grads: &mut [Option<&mut [E]>],
    ) -> Result<bool, ProtocolError> {
        self.unscale_with(optimizer, |inverse| slices::unscale(grads, inverse))
    }

    /// The same for gradients of any kind: `look` multiplies them by the number it is given and returns the sum of its
    /// flags, or `None` where there was no gradient.
    ///
    /// # Errors
    ///
    /// Out of order, in which case `look` is not called, or whatever `look` fails with; the stage stays then.
    pub fn unscale_with(
        &mut self,
        optimizer: OptimizerId,
        look: impl FnOnce(f32) -> Result<Option<f32>, ProtocolError>,
    ) -> Result<bool, ProtocolError> {
        let scale = self.need("unscale_")?.scale;
        self.progress(optimizer).may_unscale(optimizer)?;
        let found = look(round::reciprocal(scale))?;
        self.optimizers.insert(optimizer, Progress { stage: Stage::Unscaled, found });
        Ok(found.is_some_and(|found| Verdict::of(found) == Verdict::Skip))
    }

    /// Decides on an optimizer's step, unscaling its gradients first unless that was done.
    ///
    /// # Errors
    ///
    /// Out of order, `f16` gradients, or not one gradient.
    pub fn step<E: Element>(
        &mut self,
        optimizer: OptimizerId,
        grads: &mut [Option<&mut [E]>],
    ) -> Result<Verdict, ProtocolError> {
        self.step_with(optimizer, |inverse| slices::unscale(grads, inverse))
    }

    /// The same for gradients of any kind; `look` is as in [`unscale_with`](Self::unscale_with), and is called only if
    /// they were not unscaled yet.
    ///
    /// # Errors
    ///
    /// As [`step`](Self::step), or whatever `look` fails with.
    pub fn step_with(
        &mut self,
        optimizer: OptimizerId,
        look: impl FnOnce(f32) -> Result<Option<f32>, ProtocolError>,
    ) -> Result<Verdict, ProtocolError> {
        self.need("step")?;
        self.progress(optimizer).may_step(optimizer)?;
        if self.stage(optimizer) == Stage::Ready {
            self.unscale_with(optimizer, look)?;
        }
        let found = self.found(optimizer).ok_or(ProtocolError::NothingChecked { optimizer })?;
        self.optimizers.insert(optimizer, Progress { stage: Stage::Stepped, found: Some(found) });
        Ok(Verdict::of(found))
    }

    /// Ends the iteration: backs off once if any optimizer overflowed, counts towards growth otherwise, and makes every
    /// call legal again.
    ///
    /// # Errors
    ///
    /// Before the first `scale`, or if no optimizer looked at a gradient; stages stay as they are then.
    pub fn update(&mut self) -> Result<(), ProtocolError> {
        let live = self.need("update")?;
        let mut found = self.optimizers.values().filter_map(|progress| progress.found).peekable();
        found.peek().ok_or(ProtocolError::NothingToUpdate)?;
        let overflowed = found.any(|found| Verdict::of(found) == Verdict::Skip);
        self.live = Some(live.next(&self.config, overflowed));
        self.optimizers.clear();
        Ok(())
    }

    /// torch's `update(new_scale)`: ends the iteration with this scale, whatever was found, and keeps the tracker.
    ///
    /// # Errors
    ///
    /// Before the first `scale`, or a value that torch refuses; stages stay as they are then.
    pub fn set_scale(&mut self, new: NewScale) -> Result<(), ProtocolError> {
        let live = self.need("update")?;
        self.live = Some(Live { scale: new.stored()?, ..live });
        self.optimizers.clear();
        Ok(())
    }

    /// What to save; take it after `update`.
    pub fn state_dict(&self) -> StateDict {
        StateDict {
            scale: self.get_scale(),
            growth_factor: self.config.growth_factor,
            backoff_factor: self.config.backoff_factor,
            growth_interval: self.config.growth_interval,
            growth_tracker: self.growth_tracker(),
        }
    }

    /// Takes over a saved state; like torch this checks no factor, and leaves the stages as they are.
    ///
    /// # Errors
    ///
    /// A finite scale outside `f32`, where the scale is already set up. The scale to start from is changed by then and
    /// nothing else, as in torch.
    pub fn load_state_dict(&mut self, state: &StateDict) -> Result<(), ProtocolError> {
        self.config.init_scale = state.scale;
        if let Some(live) = &mut self.live {
            live.scale = round::stored(state.scale)?;
            live.tracker = state.growth_tracker;
        }
        self.config.growth_factor = state.growth_factor;
        self.config.backoff_factor = state.backoff_factor;
        self.config.growth_interval = state.growth_interval;
        self.init_tracker = state.growth_tracker;
        Ok(())
    }

    fn set_up(&mut self) -> Result<f32, ProtocolError> {
        let live = match self.live {
            Some(live) => live,
            None => Live::new(self.config.init_scale, self.init_tracker)?,
        };
        self.live = Some(live);
        Ok(live.scale)
    }

    fn need(&self, call: &'static str) -> Result<Live, ProtocolError> {
        self.live.ok_or(ProtocolError::NeverScaled { call })
    }

    fn progress(&self, optimizer: OptimizerId) -> Progress {
        self.optimizers.get(&optimizer).copied().unwrap_or_default()
    }
}
