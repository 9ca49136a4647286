//! Sets models up at an opt level.

use crate::{Illegal, Properties};
use binade_autocast::{Autocast, Region};
use binade_core::{DType, Error, ErrorKind, Named};
use binade_grad_scaler::{GradScaler, Scaler};
use binade_master_weights::{
    MasterOptimizer, MasterStore, MasterWeights, OptimizerConfig, RuleError, UpdateRule,
};
use std::sync::Arc;

/// Parameters of a model, the names of the parameters of its normalisations, and parameter groups with rules of their own.
#[derive(Clone, Debug)]
pub struct Model<P> {
    params: P,
    /// Names of all parameters, where they are known.
    names: Option<Vec<Arc<str>>>,
    norm: Vec<String>,
    groups: Vec<(Vec<String>, UpdateRule)>,
}

impl<T> Model<Vec<Named<T>>> {
    /// Makes a model of these parameters and remembers their names, which policies of [layers](Properties::with_layer) go by.
    pub fn named(params: Vec<Named<T>>) -> Self {
        let names = params.iter().map(|param| param.name.clone()).collect();
        Self { names: Some(names), ..Self::new(params) }
    }
}

impl<P> Model<P> {
    /// Makes a model of these parameters, none of them known to be a normalisation's.
    pub fn new(params: P) -> Self {
        Self { params, names: None, norm: Vec::new(), groups: Vec::new() }
    }

    /// Names the gains and offsets of normalisations, which O2 keeps in `f32`: `Tape::norms` of `binade-tape` finds them by their
    /// operations.
    ///
    /// A name that no parameter has is refused at O2, the level that looks for it: all other levels treat parameters alike.
    #[must_use]
    pub fn with_norm<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.norm.extend(names.into_iter().map(Into::into));
        self
    }

    /// Moves the named parameters by a rule of their own, of any kind: one of torch's `param_groups`, or one of two optimizers that share a
    /// backward pass. A later group takes over from an earlier one.
    ///
    /// A rule with a value out of its range, and a name that no parameter has, are errors of [`initialize`] and [`Setup::optimizer`].
    #[must_use]
    pub fn with_group<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
        rule: UpdateRule,
    ) -> Self {
        self.groups.push((names.into_iter().map(Into::into).collect(), rule));
        self
    }
}

/// Reason why a model could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum InitError<E> {
    /// Properties that do not go together.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// Hyper-parameter out of range.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Error of the device.
    #[error(transparent)]
    Device(E),
}

impl<E: Error> Error for InitError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Illegal(error) => error.kind(),
            Self::Rule(error) => error.kind(),
            Self::Device(error) => error.kind(),
        }
    }
}

/// Device with checked properties, which creates any number of optimizers and scalers.
///
/// One model, one optimizer, one loss: [`initialize`] does it in one call.
///
/// # Contract
///
/// * Each call of [`optimizer`](Self::optimizer) takes over one model: two models stay apart, masters and moments too.
/// * Each call of [`scaler`](Self::scaler) makes a scale of its own. Several losses may share one, whose steps are then
///   joined for one update, or each have one, so that an overflow of one loss leaves the others' scales alone.
/// * The region is a value, the same for all models and devices.
#[derive(Clone, Debug)]
pub struct Setup<D> {
    device: D,
    properties: Properties,
    /// Region that casts operations: by Apex's O1 lists on every device at O1. At O2 and O3 linear layers and convolutions cast their input
    /// to the type of their weight, as Apex's O2 casts what a model is given; at O0 it is off. Policies of
    /// [layers](Properties::with_layer) come first at every level.
    ///
    /// It and its clones count as one: an operation that asks one of them has asked all.
    pub region: Region,
}

const NAMELESS: &str = "a layer's policy stores its parameters in f32, and the model does not know which they are: make it with `Model::named`";

/// The notice of reports at O1 until an operation asks the region.
const IDLE: &str = "No operation has asked O1's region, so that all ran in the types that it was given, most likely f32: compute \
                    by operations that take `region`, which a framework's own layers do not, or cast by a region made of it, \
                    as `region.with_policy(policy)?`";

impl<D: Clone> Setup<D> {
    /// Checks `properties` and keeps them. Where they are not `enabled`, every part is switched off, as by
    /// [`with_enabled`](Properties::with_enabled).
    ///
    /// # Errors
    ///
    /// [`Illegal`] for a combination that would not do what its author means.
    pub fn new(device: D, properties: Properties) -> Result<Self, Illegal> {
        let enabled = properties.enabled;
        let properties = properties.with_enabled(enabled);
        properties.check()?;
        let region = properties.region();
        Ok(Self { device, properties, region })
    }

    /// Returns the properties that were chosen.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns the configuration by which a model's parameters are stored and moved.
    fn config<P, E>(
        &self,
        model: &Model<P>,
        rule: UpdateRule,
    ) -> Result<OptimizerConfig, InitError<E>> {
        let keep = self.kept(model)?;
        let bare = self.properties.master_weights == Some(false);
        let mut config = OptimizerConfig::new(rule)?;
        for (names, rule) in &model.groups {
            config = config.with_group(names.iter().cloned(), *rule)?;
        }
        let config =
            config.with_store(if bare { MasterStore::NoMaster } else { MasterStore::Copy });
        Ok(match self.properties.storage {
            None => config,
            Some(dtype) => config.with_storage(dtype).keep(keep),
        })
    }

    /// Returns the names of parameters that are kept in `f32`. A layer's own policy decides over its parameters; in layers without one,
    /// the parameters of normalisations are kept.
    fn kept<P>(&self, model: &Model<P>) -> Result<Vec<String>, Illegal> {
        let by_layer = |name: &str| self.properties.layer_storage(name);
        let norm = model.norm.iter().filter(|name| by_layer(name).is_none());
        let norm = norm.filter(|_| self.properties.keep_norm_f32 == Some(true)).cloned();
        let names = match &model.names {
            None if self.properties.stores_by_layer() => return Err(Illegal(NAMELESS.into())),
            names => names.iter().flatten(),
        };
        let kept = names.filter(|name| by_layer(name) == Some(DType::F32));
        Ok(kept.map(ToString::to_string).chain(norm).collect())
    }
}

impl<D: Autocast> Setup<D> {
    /// Returns a model's output in the type that the level promises its caller: f32 at O2 and O3, so that losses are not computed
    /// in sixteen bits, and unchanged elsewhere. Outputs that are not floating-point stay as they are.
    ///
    /// # Errors
    ///
    /// If the device refuses the cast.
    pub fn output(&self, output: &D::Tensor) -> Result<D::Tensor, D::Error> {
        self.brought(output, self.properties.outputs)
    }

    /// Returns a batch in the type that the level stores parameters in, as Apex's O2 casts a model's input: low at O2 and O3, f32
    /// at O0, and unchanged at O1. Inputs that are not floating-point stay as they are.
    ///
    /// # Errors
    ///
    /// If the device refuses the cast.
    pub fn input(&self, input: &D::Tensor) -> Result<D::Tensor, D::Error> {
        self.brought(input, self.properties.storage)
    }

    /// Returns the output of the layer at `path` in the type of the layer's own policy, or else as [`output`](Self::output) does.
    ///
    /// # Errors
    ///
    /// If the device refuses the cast.
    pub fn output_at(&self, path: &str, output: &D::Tensor) -> Result<D::Tensor, D::Error> {
        let own = self.properties.layer(path).map(|policy| policy.output);
        self.brought(output, own.or(self.properties.outputs))
    }

    fn brought(&self, tensor: &D::Tensor, to: Option<DType>) -> Result<D::Tensor, D::Error> {
        let now = self.device.dtype(tensor);
        match to {
            Some(dtype) if now.is_castable() && dtype != now => self.device.cast(tensor, dtype),
            _ => Ok(tensor.clone()),
        }
    }
}

impl<D: MasterWeights + Clone> Setup<D> {
    /// Takes over a model's parameters: stores them as the level says, with masters if it says so.
    ///
    /// # Errors
    ///
    /// If `rule` has a value out of its range, the model names a parameter it does not have, or the device fails.
    pub fn optimizer(
        &self,
        model: Model<D::Params>,
        rule: UpdateRule,
    ) -> Result<MasterOptimizer<D>, InitError<D::Error>> {
        let config = self.config(&model, rule)?;
        MasterOptimizer::new(self.device.clone(), model.params, config).map_err(InitError::Device)
    }
}

impl<D: GradScaler + Clone> Setup<D> {
    /// Makes a scaler by the level's rule. At O1 the reports of its steps carry a notice until an operation has asked
    /// [`region`](Self#structfield.region).
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn scaler(&self) -> Result<Scaler<D>, D::Error> {
        let scaler = Scaler::new(self.device.clone(), self.properties.loss_scale)?;
        if !self.properties.autocast {
            return Ok(scaler);
        }
        let region = self.region.clone();
        Ok(scaler.with_notice(move || region.is_idle().then_some(IDLE)))
    }
}

/// Region, scaler and optimizer of one model.
#[derive(Debug)]
pub struct Amp<D: GradScaler + MasterWeights> {
    /// Region that casts operations: see [`Setup`](Setup#structfield.region).
    pub region: Region,
    /// Scaler of losses.
    pub scaler: Scaler<D>,
    /// Optimizer, which holds the parameters and moves them.
    pub optimizer: MasterOptimizer<D>,
}

/// Sets up one model, one optimizer and one loss by `properties`; [`Setup`] is for several.
///
/// ```
/// use binade::prelude::*;
/// use binade_cpu::{Cpu, Tensor};
///
/// let weight = Tensor::new(vec![1.0_f32, 2.0], &[2])?;
/// let model = Model::new(vec![Named::new("weight", weight)]);
/// let amp = initialize(Cpu, model, UpdateRule::sgd(0.1), OptLevel::O2.with(DType::F16))?;
/// assert_eq!(amp.optimizer.params[0].value.dtype(), DType::F16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the properties or `rule` are refused, the model names a parameter it does not have, a [layer's pattern](Properties::with_layer)
/// covers none, or the device fails.
pub fn initialize<D>(
    device: D,
    model: Model<D::Params>,
    rule: UpdateRule,
    properties: Properties,
) -> Result<Amp<D>, InitError<D::Error>>
where
    D: GradScaler + MasterWeights + Clone,
{
    let setup = Setup::new(device, properties)?;
    if let Some(names) = &model.names {
        setup.properties.check_covered(names)?;
    }
    Ok(Amp {
        region: setup.region.clone(),
        scaler: setup.scaler().map_err(InitError::Device)?,
        optimizer: setup.optimizer(model, rule)?,
    })
}
