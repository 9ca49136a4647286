//! The trait of a device that keeps master weights and steps them.

use crate::OptimizerConfig;
use binade_core::{GradSet, Named, TrainError};
use std::sync::Arc;

/// Device that keeps `f32` masters and optimizer state of parameters, and updates them.
///
/// `join` and `set_offsets` are optional: a device that leaves one out answers that it is `Unsupported`, before anything has changed.
///
/// # For implementers
///
/// * Moments are `f32`, but for those that the configuration keeps in bf16; a parameter that is `f32` already is its own master. Masters
///   are kept, and low-precision parameters rounded, as the configuration's [store](crate::stores) says: by default in `f32`, and to nearest
///   even. A store, an update rule or state in bf16 that the device does not have is `Unsupported`, by name.
/// * `step` is [`step::step`](crate::step::step) on every parameter, bit for bit, and [`step::measure`](crate::step::measure) of the whole
///   tensor before it where the rule measures tensors: the gradient is unscaled and clipped in `f32` first, whatever its storage.
///   Norms may be sums in the device's own order, so that one rounds to the next `f32`; all else has these bits.
/// * Where the store rounds by chance, parameters are numbered by their place in `params`.
/// * Where `found` is raised, `step` keeps every bit of parameters, masters, moments and step count, and tests it where
///   it lives. Any raised value skips.
/// * What depends on the count of applied steps comes from [`StepConstants::at`](crate::StepConstants::at): the host
///   uploads numbers ahead, the device counts.
/// * Gradients are matched to parameters by name; one without a parameter, of another length, or the second of its
///   name, is a `Mismatch` that names it, skipped step or not, and nothing has moved. A parameter without a gradient
///   stays as it is; where none has one and the step is not skipped, the error is
///   [`TrainError::NoGradients`](binade_core::TrainError).
/// * Parameters that join begin as those of [`masters`](Self::masters) do: masters of their values, then stored as the configuration
///   says, moments zero, no step applied. They stand behind the others, and are numbered on.
/// * A join changes nothing that is kept for the others but their rule, which is the configuration's.
/// * A join that is refused has changed nothing.
/// * Where the store rounds by chance, a step of a slice whose offset is set gives the bits of that part of a step of the whole. Offsets
///   change nothing under other stores, and are not saved.
///
/// # Examples
///
/// A device of one `bf16` array that steps by SGD without momentum:
///
/// ```
/// use binade_core::{FoundInf, GradSet, Handle, TrainError};
/// use binade_master_weights::step::{Factor, Params, Slices, step};
/// use binade_master_weights::{MasterOptimizer, MasterWeights, OptimizerConfig, StepConstants, UpdateRule};
/// use half::bf16;
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = Vec<bf16>;
///     type Error = TrainError;
/// }
///
/// impl GradSet for Host {
///     type Params = Vec<bf16>;
///     type Grads = Vec<f32>;
///     type Found = FoundInf;
///
///     fn train_error(&self, error: TrainError) -> TrainError {
///         error
///     }
/// }
///
/// struct Masters {
///     values: Vec<f32>,
///     rule: UpdateRule,
///     applied: u64,
/// }
///
/// impl MasterWeights for Host {
///     type Masters = Masters;
///
///     fn masters(&self, params: &mut Vec<bf16>, config: &OptimizerConfig) -> Result<Masters, TrainError> {
///         if config.rule().moments() > 0 {
///             return Err(TrainError::unsupported::<Self>("UpdateRule::moments"));
///         }
///         let values = params.iter().map(|x| x.to_f32()).collect();
///         Ok(Masters { values, rule: *config.rule(), applied: 0 })
///     }
///
///     fn set_config(&self, masters: &mut Masters, config: &OptimizerConfig) -> Result<(), TrainError> {
///         masters.rule = *config.rule();
///         Ok(())
///     }
///
///     fn step(
///         &self,
///         params: &mut Vec<bf16>,
///         masters: &mut Masters,
///         grads: Vec<f32>,
///         found: &FoundInf,
///     ) -> Result<(), TrainError> {
///         if found.is_raised() {
///             return Ok(());
///         }
///         let slices = Slices {
///             grads: &grads,
///             params: Params::Copy { master: &mut masters.values, low: params },
///             moments: [&mut [], &mut [], &mut []],
///         };
///         let constants = StepConstants::at(&masters.rule, masters.applied);
///         step(&constants, Factor::ONE, slices).expect("slices of one length");
///         masters.applied += 1;
///         Ok(())
///     }
/// }
///
/// let config = OptimizerConfig::new(UpdateRule::sgd(0.25)).expect("a rate above 0");
/// let mut optimizer = MasterOptimizer::new(Host, vec![bf16::ONE], config)?;
/// # use binade_core::Optimizer;
/// optimizer.step(vec![2.0], &FoundInf::default())?;
/// assert_eq!(optimizer.params, [bf16::from_f32(0.5)]);
/// # Ok::<(), TrainError>(())
/// ```
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait MasterWeights: GradSet {
    /// Masters, moments, step count and hyper-parameters, where the parameters live.
    type Masters;

    /// Creates masters of the current `params`, to be updated by `config`, and then stores each parameter in the type of `config`. So masters keep
    /// the bits that lowering a parameter loses.
    ///
    /// # Errors
    ///
    /// If the device fails or lacks the configuration's store, the store does not support a parameter's type, `config` names an unknown parameter, or
    /// two parameters have one name.
    fn masters(
        &self,
        params: &mut Self::Params,
        config: &OptimizerConfig,
    ) -> Result<Self::Masters, Self::Error>;

    /// Puts other hyper-parameters in place: a learning rate that moved, a group that thawed. State is kept.
    ///
    /// # Errors
    ///
    /// When the device fails, or `config` needs other state than is kept, or stores it otherwise.
    fn set_config(
        &self,
        masters: &mut Self::Masters,
        config: &OptimizerConfig,
    ) -> Result<(), Self::Error>;

    /// Applies one step, unless `found` is raised.
    ///
    /// # Errors
    ///
    /// When the device fails, or `grads` does not match the parameters.
    fn step(
        &self,
        params: &mut Self::Params,
        masters: &mut Self::Masters,
        grads: Self::Grads,
        found: &Self::Found,
    ) -> Result<(), Self::Error>;

    /// Returns names of parameters that `grads` has no entry for, which reports list as missing. Host knowledge: nothing is read. The
    /// provided method returns none, for devices whose sets always list all parameters.
    fn unlisted(&self, masters: &Self::Masters, grads: &Self::Grads) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Appends `more` to `params`, in the middle of a run, and updates all by `config` from the next step on: for a layer that is added or unfrozen.
    /// Optional.
    ///
    /// # Errors
    ///
    /// When the device fails, a name of `more` is in `params` or comes twice, or [`set_config`](Self::set_config) would refuse
    /// `config`.
    fn join(
        &self,
        params: &mut Self::Params,
        masters: &mut Self::Masters,
        more: Self::Params,
        config: &OptimizerConfig,
    ) -> Result<(), Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("MasterWeights::join")))
    }

    /// Makes parameters slices of larger tensors, each from the element that its name goes with on: they are rounded by chance as these elements of
    /// the whole tensors are. Parameters that are not named are unchanged. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails, or no parameter has one of the names.
    fn set_offsets(
        &self,
        masters: &mut Self::Masters,
        offsets: &[Named<u64>],
    ) -> Result<(), Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("MasterWeights::set_offsets")))
    }
}
