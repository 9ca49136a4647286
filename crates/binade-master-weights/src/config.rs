//! Configuration of an optimizer: the rule of each parameter, and the store of its master.

use crate::{ConfigError, MasterStore, RuleError, UpdateRule};
use binade_core::DType;
use std::collections::{HashMap, HashSet};

/// Returns true if parameters of this type can be trained: `f32` holds the type, and masters can be rounded to it.
pub(crate) fn is_trainable(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16 | DType::F32)
}

/// Configuration of an optimizer: the rule of each parameter, and the store of masters. The configuration is plain data, so that one fused kernel can
/// take it.
///
/// # Examples
///
/// ```
/// use binade_core::DType;
/// use binade_master_weights::{OptimizerConfig, RuleError, UpdateRule};
///
/// let config = OptimizerConfig::new(UpdateRule::adamw(1e-3))?.with_storage(DType::F16).keep(["norm.weight"]);
/// assert_eq!(config.with_lr(5e-4)?.rule().lr(), 5e-4);
/// # Ok::<(), RuleError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OptimizerConfig {
    rule: UpdateRule,
    groups: Vec<ParamGroup>,
    /// The store of masters.
    pub store: MasterStore,
    /// The element types that parameters are stored in.
    #[cfg_attr(feature = "serde", serde(default))]
    pub storage: Storage,
    /// Names of the optimizer state stored in bf16: see [`with_bf16_state`](Self::with_bf16_state).
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) bf16_state: Vec<String>,
    /// True if steps count [updates that are lost](crate::LostUpdates).
    #[cfg_attr(feature = "serde", serde(default))]
    pub counts_lost_updates: bool,
}

/// The element types that parameters are stored in.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Storage {
    /// Type of all parameters except those in `keep_f32`; `None` where each of them stays in the type it has.
    pub dtype: Option<DType>,
    /// Names of parameters that stay in `f32`: normalisation, as with Apex's `keep_batchnorm_fp32`.
    pub keep_f32: Vec<String>,
}

/// Parameter group with its own update rule.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ParamGroup {
    /// Their names.
    pub parameters: Vec<String>,
    /// Their rule.
    pub rule: UpdateRule,
    /// Ratio of the group's learning rate to that of parameters in no group, at the time the group was added; a schedule keeps this ratio. `None` if
    /// that rate was 0: the group then keeps its own rate.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ratio: Option<f64>,
}

impl OptimizerConfig {
    /// Creates a configuration that moves every parameter by `rule`, with masters in `f32` copies.
    ///
    /// # Errors
    ///
    /// When `rule` has a value it is not defined for.
    pub fn new(rule: UpdateRule) -> Result<Self, RuleError> {
        rule.validate()?;
        Ok(Self {
            rule,
            groups: Vec::new(),
            store: MasterStore::Copy,
            storage: Storage::default(),
            bf16_state: Vec::new(),
            counts_lost_updates: false,
        })
    }

    /// Adds a parameter group with its own rule; a later group takes precedence over an earlier one. A group of the same names as an earlier one
    /// replaces it.
    ///
    /// # Errors
    ///
    /// When `rule` has a value it is not defined for.
    pub fn with_group<S: Into<String>>(
        mut self,
        parameters: impl IntoIterator<Item = S>,
        rule: UpdateRule,
    ) -> Result<Self, RuleError> {
        rule.validate()?;
        let parameters: Vec<String> = parameters.into_iter().map(Into::into).collect();
        let group = ParamGroup { parameters, rule, ratio: self.ratio(rule.lr()) };
        let is_same = |other: &ParamGroup| other.parameters == group.parameters;
        let Some(place) = self.groups.iter().position(is_same) else {
            self.groups.push(group);
            return Ok(self);
        };
        let is_last = |later: &ParamGroup| {
            later.parameters.iter().all(|name| !group.parameters.contains(name))
        };
        if self.groups[place + 1..].iter().all(is_last) {
            self.groups[place] = group;
        } else {
            self.groups.remove(place);
            self.groups.push(group);
        }
        Ok(self)
    }

    /// Returns the configuration with another learning rate for one group, counted from 0 in the order of [`groups`](Self::groups), as
    /// torch's `param_groups[1]["lr"] = x` sets it. A later [`with_lr`](Self::with_lr) keeps the ratio of the new rate.
    ///
    /// ```
    /// use binade_master_weights::{OptimizerConfig, RuleError, UpdateRule};
    ///
    /// let config = OptimizerConfig::new(UpdateRule::sgd(0.1))?.with_group(["bias"], UpdateRule::sgd(0.2))?;
    /// let config = config.with_group_lr(0, 0.05)?;
    /// assert_eq!(config.rule_for("bias").lr(), 0.05);
    /// assert!(config.with_group_lr(1, 0.05).is_err());
    /// # Ok::<(), RuleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such group, or `lr` is not a learning rate.
    pub fn with_group_lr(mut self, group: u32, lr: f64) -> Result<Self, RuleError> {
        let ratio = self.ratio(lr);
        let Some(one) = self.groups.get_mut(group as usize) else {
            let range = "the place of a group of `with_group`, from 0";
            return Err(RuleError { name: "group", value: group.into(), range });
        };
        (one.rule, one.ratio) = (one.rule.with_lr(lr), ratio);
        one.rule.validate()?;
        Ok(self)
    }

    /// Returns the ratio of a group's rate to that of parameters in no group. A rate so small that the ratio is infinite is treated as 0.
    fn ratio(&self, lr: f64) -> Option<f64> {
        Some(lr / self.rule.lr()).filter(|ratio| ratio.is_finite())
    }

    /// Keeps masters of low-precision parameters in the given store.
    #[must_use]
    pub fn with_store(self, store: MasterStore) -> Self {
        Self { store, ..self }
    }

    /// Stores parameters in `dtype`, except those that [`keep`](Self::keep) names. Without this each stays in the type it has.
    #[must_use]
    pub fn with_storage(mut self, dtype: DType) -> Self {
        self.storage.dtype = Some(dtype);
        self
    }

    /// Stores these parameters in `f32`, in addition to those named before, such as normalisation weights: Apex's `keep_batchnorm_fp32`.
    #[must_use]
    pub fn keep<S: Into<String>>(mut self, parameters: impl IntoIterator<Item = S>) -> Self {
        self.storage.keep_f32.extend(parameters.into_iter().map(Into::into));
        self
    }

    /// Stores moments of these names in bf16, in addition to those named before: 2 bytes an element instead of 4. The names are torch's, as
    /// [`UpdateRule::moment_names`] lists them: `exp_avg` and `exp_avg_sq` of Adam, `momentum_buffer` of SGD.
    ///
    /// A step widens them to `f32`, computes as with `f32` state, and rounds each to nearest even. This works in host memory and on CUDA, where LAMB
    /// keeps `f32`; wgpu refuses it by name.
    ///
    /// A rounding loses up to 2^-8 of a moment, and a change below 2^-9 is lost whole. With a `beta2` of 0.999 a mean of squares decreases by at most
    /// a thousandth a step, so in bf16 it never decreases: it stays at its largest value, and keeps steps small. Keep `exp_avg_sq` in `f32`, or use a
    /// `beta2` of 0.99. [`LostUpdates`](crate::LostUpdates) counts weights, and does not see that.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::DType;
    /// use binade_master_weights::{Memory, OptimizerConfig, UpdateRule};
    ///
    /// let config = OptimizerConfig::new(UpdateRule::adamw(1e-3))?.with_bf16_state(["exp_avg"]);
    /// let memory = Memory::of(&config, [("weight", DType::F32, 1000)]);
    /// assert_eq!(memory.optimizer, 2000 + 4000);
    /// # Ok::<(), binade_master_weights::RuleError>(())
    /// ```
    #[must_use]
    pub fn with_bf16_state<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.bf16_state.extend(names.into_iter().map(Into::into));
        self
    }

    /// Returns, for each of a rule's moments in order, true if it is stored in bf16.
    pub fn bf16_moments(&self, rule: &UpdateRule) -> [bool; 3] {
        let names = rule.moment_names();
        let is_named = |name: &&str| self.bf16_state.iter().any(|own| own == name);
        [0, 1, 2].map(|place| place < rule.moments() && names.get(place).is_some_and(is_named))
    }

    /// Returns a name of state that no rule of the configuration keeps: most likely a typing error.
    pub(crate) fn unknown_state(&self) -> Option<&str> {
        let is_kept = |name: &&str| {
            self.rules().any(|rule| rule.moment_names().iter().any(|own| own == name))
        };
        self.bf16_state.iter().map(String::as_str).find(|name| !is_kept(name))
    }

    /// Sets if each step counts [updates that are lost](crate::LostUpdates). A step that counts widens each tensor twice, for the time of that
    /// tensor's step; results are the same. Can be switched in a running optimizer.
    #[must_use]
    pub fn with_lost_updates(self, counted: bool) -> Self {
        Self { counts_lost_updates: counted, ..self }
    }

    /// Returns the configuration at another learning rate, as a schedule sets it.
    ///
    /// Each group's rate is `lr` times the group's [ratio](ParamGroup::ratio), which is fixed when the group is added. A rate of 0 in between
    /// does not change it. A group that is added at a rate of 0 stays frozen. A group that is added while the configuration's own rate is 0
    /// has no ratio and keeps its rate: add groups before a warm-up sets the rate to 0.
    ///
    /// # Errors
    ///
    /// When `lr` is not one.
    pub fn with_lr(mut self, lr: f64) -> Result<Self, RuleError> {
        self.rule = self.rule.with_lr(lr);
        self.rule.validate()?;
        for group in &mut self.groups {
            let Some(ratio) = group.ratio else { continue };
            group.rule = group.rule.with_lr(lr * ratio);
            group.rule.validate()?;
        }
        Ok(self)
    }

    /// Returns the rule that moves `parameter`.
    pub fn rule_for(&self, parameter: &str) -> &UpdateRule {
        let own = |group: &&ParamGroup| group.parameters.iter().any(|name| name == parameter);
        self.groups.iter().rev().find(own).map_or(&self.rule, |group| &group.rule)
    }

    /// Divides `parameters` by rule: the names of each [group](Self::groups), in order, and last those in no group. A list may be empty. Clipping by
    /// groups takes names: `ClipGroup` of `binade-grad-scaler`.
    pub fn partition<'p>(&self, parameters: impl IntoIterator<Item = &'p str>) -> Vec<Vec<String>> {
        let mut places = HashMap::new();
        for (place, group) in self.groups.iter().enumerate() {
            // A later group takes precedence, as in `rule_for`.
            places.extend(group.parameters.iter().map(|name| (name.as_str(), place)));
        }
        let mut parts = vec![Vec::new(); self.groups.len() + 1];
        for parameter in parameters {
            let place = places.get(parameter).copied().unwrap_or(self.groups.len());
            parts[place].push(parameter.to_owned());
        }
        parts
    }

    /// Returns the rule of parameters that no group names.
    pub fn rule(&self) -> &UpdateRule {
        &self.rule
    }

    /// Returns the rules of all parameters: that of each group, and that of parameters that no group names.
    pub fn rules(&self) -> impl Iterator<Item = &UpdateRule> {
        self.groups.iter().map(|group| &group.rule).chain([&self.rule])
    }

    /// Checks that each rule has a kernel on the device of this name, for the types of its state. `has_kernel` returns true for a rule that
    /// has one, and `takes_bf16` for a rule whose kernel keeps moments in bf16.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Rule`] for the first rule without a kernel, [`ConfigError::Counted`] for the first whose constants a device cannot
    /// compute from its count of steps, and [`ConfigError::State`] for the first with state in bf16 that its kernel keeps in `f32`.
    pub fn check_kernels(
        &self,
        device: &'static str,
        has_kernel: impl Fn(&UpdateRule) -> bool,
        takes_bf16: impl Fn(&UpdateRule) -> bool,
    ) -> Result<(), ConfigError> {
        for rule in self.rules() {
            if !has_kernel(rule) {
                return Err(ConfigError::Rule { device, rule: rule.name() });
            }
            if !rule.is_counted_by_rows() {
                return Err(ConfigError::Counted { device, rule: rule.name() });
            }
            let mut moments = rule.moment_names().iter().zip(self.bf16_moments(rule));
            if let Some((name, _)) = moments.find(|(_, is_low)| *is_low && !takes_bf16(rule)) {
                return Err(ConfigError::State { device, rule: rule.name(), name });
            }
        }
        Ok(())
    }

    /// Checks that no rule needs the gradients of all parameters together, for a device that steps parts of a set separately.
    ///
    /// # Errors
    ///
    /// [`ConfigError::AllGradients`] for the first rule that does.
    pub fn check_parts(&self) -> Result<(), ConfigError> {
        match self.rules().find(|rule| rule.needs_all_gradients()) {
            Some(rule) => Err(ConfigError::AllGradients(rule.name())),
            None => Ok(()),
        }
    }

    /// Groups in the order they were given.
    pub fn groups(&self) -> &[ParamGroup] {
        &self.groups
    }

    /// Returns the configuration restricted to the parameters for whose names `is_kept` is true.
    #[must_use]
    pub fn restricted_to(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let mut config = self.clone();
        let groups = config.groups.iter_mut().map(|group| &mut group.parameters);
        for names in groups.chain([&mut config.storage.keep_f32]) {
            names.retain(|name| is_kept(name));
        }
        config
    }

    /// Returns true if `other` keeps the same masters and state of the same types; the order of names does not matter.
    pub(crate) fn stores_as(&self, other: &Self) -> bool {
        fn told(config: &OptimizerConfig) -> (Option<DType>, [HashSet<&String>; 2]) {
            let names = [&config.storage.keep_f32, &config.bf16_state];
            (config.storage.dtype, names.map(|names| names.iter().collect()))
        }
        self.store == other.store && told(self) == told(other)
    }

    /// Returns the type that `parameter`, of type `now`, is stored in.
    pub fn dtype_of(&self, parameter: &str, now: DType) -> DType {
        let kept = self.storage.keep_f32.iter().any(|name| name == parameter);
        if kept { DType::F32 } else { self.storage.dtype.unwrap_or(now) }
    }

    /// A name in the configuration that is not among `parameters`: most likely a typing error.
    pub(crate) fn unknown_parameter<'p>(
        &self,
        parameters: impl Iterator<Item = &'p str>,
    ) -> Option<&str> {
        let known: HashSet<&str> = parameters.collect();
        let grouped = self.groups.iter().flat_map(|group| &group.parameters);
        grouped.chain(&self.storage.keep_f32).map(String::as_str).find(|name| !known.contains(name))
    }
}
