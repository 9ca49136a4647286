//! The optimizer that a training loop holds.

use crate::{MasterWeights, OptimizerConfig};
use binade_core::Optimizer;
use std::{fmt, sync::Arc};

/// Parameters with their masters and configuration: an [`Optimizer`] on any device that keeps masters.
///
/// # Examples
///
/// ```
/// use binade_core::{FoundInf, HostTensor, Named, HostDevice, HostDeviceError, Optimizer};
/// use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
///
/// let params = vec![Named::new("weight", HostTensor::from(vec![1.0_f32, 2.0]))];
/// let config = OptimizerConfig::new(UpdateRule::sgd(0.5)).expect("a rate above 0");
/// let mut optimizer = MasterOptimizer::new(HostDevice::new(), params, config)?;
///
/// let grads = vec![Named::new("weight", Some(HostTensor::from(vec![1.0_f32, -1.0])))];
/// optimizer.step(grads, &FoundInf::default())?;
/// assert_eq!(optimizer.params[0].value.to_f32(), [0.5, 2.5]);
/// # Ok::<(), HostDeviceError<binade_core::HostTypeError>>(())
/// ```
pub struct MasterOptimizer<D: MasterWeights> {
    device: D,
    masters: D::Masters,
    config: OptimizerConfig,
    /// Parameters that the model computes with.
    ///
    /// A step overwrites a parameter from its master, so a value written to such a parameter is lost. Change weights before [`new`](Self::new), or
    /// put saved ones back by [`load`](Self::load).
    pub params: D::Params,
}

impl<D: MasterWeights> MasterOptimizer<D> {
    /// Takes `params`, creates masters of their current values, and stores the parameters in the types of `config`.
    ///
    /// # Errors
    ///
    /// When the device fails, or `config` names a parameter that is not there.
    pub fn new(
        device: D,
        mut params: D::Params,
        config: OptimizerConfig,
    ) -> Result<Self, D::Error> {
        let masters = device.masters(&mut params, &config)?;
        Ok(Self { device, masters, config, params })
    }

    /// Moves parameters by another configuration from the next step on: a learning rate that moved. State is kept.
    ///
    /// # Errors
    ///
    /// When the device fails, or `config` needs other state than is kept, or stores it otherwise.
    pub fn set_config(&mut self, config: OptimizerConfig) -> Result<(), D::Error> {
        self.device.set_config(&mut self.masters, &config)?;
        self.config = config;
        Ok(())
    }

    /// Adds parameters in the middle of a run, and updates all by `config` from the next step on. Derive `config` from the current one; a group may
    /// name the new parameters. Their counts start at 0; nothing changes for the others.
    ///
    /// # Errors
    ///
    /// When the device fails or has no [`MasterWeights::join`], a name is there already, or `config` could not be [set](Self::set_config). Nothing
    /// has changed then, except that `more` is consumed: clone it if you need it.
    pub fn join(&mut self, more: D::Params, config: OptimizerConfig) -> Result<(), D::Error> {
        self.device.join(&mut self.params, &mut self.masters, more, &config)?;
        self.config = config;
        Ok(())
    }

    /// The configuration in force.
    pub fn config(&self) -> &OptimizerConfig {
        &self.config
    }

    /// Masters and moments, as the device keeps them.
    pub fn masters(&self) -> &D::Masters {
        &self.masters
    }

    /// Returns the device of the parameters.
    pub fn device(&self) -> &D {
        &self.device
    }

    pub(crate) fn of(
        device: D,
        masters: D::Masters,
        config: OptimizerConfig,
        params: D::Params,
    ) -> Self {
        Self { device, masters, config, params }
    }

    pub(crate) fn parts(&mut self) -> (&D, &mut D::Params, &mut D::Masters) {
        (&self.device, &mut self.params, &mut self.masters)
    }
}

impl<D: MasterWeights> Optimizer<D::Grads, D::Found> for MasterOptimizer<D> {
    type Error = D::Error;

    fn step(&mut self, grads: D::Grads, found: &D::Found) -> Result<(), D::Error> {
        self.device.step(&mut self.params, &mut self.masters, grads, found)
    }

    fn unlisted(&self, grads: &D::Grads) -> Vec<Arc<str>> {
        self.device.unlisted(&self.masters, grads)
    }
}

impl<D: MasterWeights> fmt::Debug for MasterOptimizer<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterOptimizer").field("config", &self.config).finish_non_exhaustive()
    }
}
