//! Device whose findings are not the host's: it counts its reads, may be busy, and has no optional method.

use super::{Failure, Grads, Host, Result};
use binade_core::{FoundInf, GradSet, Handle, HostDevice, MergeRule, Optimizer, TrainError};
use binade_grad_scaler::{GradOps, GradScaler, Loss, LossScale, Norm, ScaleState, ScaleStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const HOST: HostDevice<Host> = HostDevice::new();

/// Finding on the device.
#[derive(Clone, Debug)]
pub struct Remote(FoundInf);

/// Device: a clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct Gpu(Arc<(AtomicUsize, AtomicBool)>);

impl Gpu {
    /// Number of calls of `read` so far.
    pub fn reads(&self) -> usize {
        self.0.0.load(Ordering::Relaxed)
    }

    pub fn set_busy(&self, busy: bool) {
        self.0.1.store(busy, Ordering::Relaxed);
    }
}

impl Handle for Gpu {
    type Tensor = Host;
    type Error = Failure;
}

impl GradSet for Gpu {
    type Params = ();
    type Grads = Grads;
    type Found = Remote;

    fn train_error(&self, error: TrainError) -> Failure {
        HOST.train_error(error)
    }
}

impl ScaleStore for Gpu {
    type Scale = ScaleState;

    fn upload_state(&self, state: ScaleState) -> Result<ScaleState> {
        Ok(state)
    }

    fn merge(&self, into: &mut Remote, from: &Remote, join: MergeRule) -> Result {
        HOST.merge(&mut into.0, &from.0, join)
    }

    fn update(
        &self,
        scale: &mut ScaleState,
        parts: &[&Remote],
        verdicts: &[&Remote],
        rule: &LossScale,
    ) -> Result {
        let [parts, verdicts] =
            [parts, verdicts].map(|found| found.iter().map(|f| &f.0).collect::<Vec<_>>());
        HOST.update(scale, &parts, &verdicts, rule)
    }

    fn read(&self, found: &[&Remote], scale: &ScaleState) -> Result<(Vec<FoundInf>, ScaleState)> {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Ok((found.iter().map(|f| f.0.clone()).collect(), *scale))
    }

    fn is_ready(&self, _: &[&Remote], _: &ScaleState) -> Result<bool> {
        Ok(!self.0.1.load(Ordering::Relaxed))
    }
}

impl Loss<Gpu> for Host {
    type Error = Failure;

    fn scaled(&self, _: &Gpu, scale: &ScaleState) -> Result<Self> {
        Loss::<HostDevice<Self>>::scaled(self, &HOST, scale)
    }

    fn unscaled(&self, _: &Gpu, scale: &ScaleState) -> Result<Self> {
        Loss::<HostDevice<Self>>::unscaled(self, &HOST, scale)
    }
}

impl GradScaler for Gpu {
    fn unscale(&self, grads: &mut Grads, scale: &ScaleState) -> Result<Remote> {
        HOST.unscale(grads, scale).map(Remote)
    }
}

impl GradOps for Gpu {
    fn clip_norm(&self, set: &mut Grads, norm: Norm, max: f32, found: &mut Remote) -> Result {
        HOST.clip_norm(set, norm, max, &mut found.0)
    }

    fn clip_value(&self, grads: &mut Grads, max: f32) -> Result {
        HOST.clip_value(grads, max)
    }

    fn accumulate(&self, sum: Option<Grads>, grads: Grads, found: &Remote) -> Result<Grads> {
        HOST.accumulate(sum, grads, &found.0)
    }
}

/// Optimizer that has no parameters.
pub struct Idle;

impl Optimizer<Grads, Remote> for Idle {
    type Error = Failure;

    fn step(&mut self, _: Grads, _: &Remote) -> Result {
        Ok(())
    }
}
