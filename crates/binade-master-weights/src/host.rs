//! Masters and optimizer state in host memory, by parameter.

use crate::{
    ConfigError, HostParamState, LostUpdates, Master, OptimizerConfig, UpdateRule,
    config_error::distinct,
};
use binade_core::{DType, MatchError, Named};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Masters and optimizer state of a set of parameters, in host memory.
///
/// A parameter's id is its place in the order of insertion. Steps use ids; names are looked up only if a set's order has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMasters {
    /// State and rule of each parameter, by id.
    pub(crate) kept: Vec<Entry>,
    ids: HashMap<Arc<str>, usize>,
    pub(crate) config: OptimizerConfig,
    /// The number of the parameter that is started first.
    first: usize,
}

/// A parameter's state and its rule. The rule is looked up once, because the configuration searches lists of names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: Arc<str>,
    pub(crate) slot: HostParamState,
    pub(crate) rule: UpdateRule,
}

impl HostMasters {
    /// Creates an empty set, whose parameters are moved by `config`.
    ///
    /// # Errors
    ///
    /// When `config` names a parameter that is not among `names` or state that no rule keeps, or one of these comes twice.
    pub fn new<'p>(
        config: &OptimizerConfig,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Self, ConfigError> {
        if let Some(name) = config.unknown_parameter(distinct(names)?.into_iter()) {
            return Err(ConfigError::UnknownParameter(name.to_owned()));
        }
        match config.unknown_state() {
            Some(name) => Err(ConfigError::UnknownState(name.to_owned())),
            None => Ok(Self::empty(config, 0)),
        }
    }

    /// Creates an empty set for parameters that join the ones kept here; `config` moves all of them.
    ///
    /// # Errors
    ///
    /// If one of `names` is already here or comes twice, and the errors of [`set_config`](Self::set_config).
    pub fn joining<'p>(
        &self,
        config: &OptimizerConfig,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Self, ConfigError> {
        let new = distinct(names)?;
        // The first by name, so that the same mistake gives the same message.
        if let Some(name) = new.iter().filter(|name| self.ids.contains_key(**name)).min() {
            return Err(ConfigError::Joined((*name).to_owned()));
        }
        self.admits(config, new)?;
        Ok(Self::empty(config, self.first + self.kept.len()))
    }

    fn empty(config: &OptimizerConfig, first: usize) -> Self {
        Self { kept: Vec::new(), ids: HashMap::new(), config: config.clone(), first }
    }

    /// Takes in parameters that were [`joining`](Self::joining), and moves all by their configuration from the next step on.
    pub fn absorb(&mut self, joined: Self) {
        self.enforce(&joined.config);
        joined.kept.into_iter().for_each(|kept| self.push(kept));
    }

    fn push(&mut self, kept: Entry) {
        self.ids.insert(kept.name.clone(), self.kept.len());
        self.kept.push(kept);
    }

    /// Starts a parameter whose present values are `values`, to be stored as `stored`. Parameters are numbered in the order of insertion.
    ///
    /// # Errors
    ///
    /// When the configuration's store keeps no masters of this type.
    pub fn insert(
        &mut self,
        name: &Arc<str>,
        values: Vec<f32>,
        stored: DType,
    ) -> Result<(), ConfigError> {
        let store = self.config.store;
        if !store.takes(stored) {
            return Err(ConfigError::Store { parameter: name.clone(), store, stored });
        }
        let number = u32::try_from(self.first + self.kept.len()).unwrap_or(u32::MAX);
        let rule = *self.config.rule_for(name);
        let low = self.config.bf16_moments(&rule);
        let mut slot = HostParamState::new((store, low), number, &rule, values, stored);
        slot.lost = self.config.counts_lost_updates.then(LostUpdates::default);
        self.push(Entry { name: name.clone(), slot, rule });
        Ok(())
    }

    /// Starts a parameter of `len` elements whose values and state are on a device. This set keeps only its length, its type and its rule.
    ///
    /// # Errors
    ///
    /// The errors of [`insert`](Self::insert).
    pub fn declare(
        &mut self,
        name: &Arc<str>,
        len: usize,
        stored: DType,
    ) -> Result<(), ConfigError> {
        self.insert(name, Vec::new(), stored)?;
        if let Some(kept) = self.kept.last_mut() {
            kept.slot.len = len;
        }
        Ok(())
    }

    /// Makes parameters slices of larger tensors: see [`MasterWeights::set_offsets`](crate::MasterWeights::set_offsets).
    ///
    /// # Errors
    ///
    /// When no parameter has one of the names; nothing has changed then.
    pub fn set_offsets(&mut self, offsets: &[Named<u64>]) -> Result<(), MatchError> {
        if let Some(Named { name, .. }) = offsets.iter().find(|one| self.id(&one.name).is_none()) {
            let why = "an offset came for it, and no parameter of the optimizer has that name";
            return Err(MatchError { parameter: name.clone(), why });
        }
        for offset in offsets {
            let kept = self.id(&offset.name).and_then(|id| self.kept.get_mut(id));
            if let Some(Master::Stochastic { first, .. }) = kept.map(|kept| &mut kept.slot.master) {
                *first = offset.value;
            }
        }
        Ok(())
    }

    /// Returns the id of a parameter: its place in the order of insertion.
    pub fn id(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// Returns the name of the parameter of this id.
    pub fn name(&self, id: usize) -> Option<&Arc<str>> {
        self.kept.get(id).map(|kept| &kept.name)
    }

    /// Returns the state of a parameter.
    pub fn get(&self, name: &str) -> Option<&HostParamState> {
        self.kept.get(self.id(name)?).map(|kept| &kept.slot)
    }

    /// Returns the updates that the last step of each parameter lost, together; `None` where the configuration does not ask for it.
    pub fn lost_updates(&self) -> Option<LostUpdates> {
        self.config.counts_lost_updates.then(|| {
            let mut all = LostUpdates::default();
            self.kept.iter().filter_map(|kept| kept.slot.lost).for_each(|lost| all += lost);
            all
        })
    }

    /// Moves parameters by another configuration from the next step on.
    ///
    /// # Errors
    ///
    /// If `config` names an unknown parameter, differs from the current configuration in store or storage, or needs different moments; nothing has
    /// changed then.
    pub fn set_config(&mut self, config: &OptimizerConfig) -> Result<(), ConfigError> {
        self.admits(config, HashSet::new())?;
        self.enforce(config);
        Ok(())
    }

    /// Checks that `config` may follow the current one, for the parameters with state and those that `new` names.
    fn admits(&self, config: &OptimizerConfig, new: HashSet<&str>) -> Result<(), ConfigError> {
        let known = self.kept.iter().map(|kept| &*kept.name).chain(new);
        if let Some(name) = config.unknown_parameter(known) {
            return Err(ConfigError::UnknownParameter(name.to_owned()));
        }
        if !self.config.stores_as(config) {
            return Err(ConfigError::Stored);
        }
        let low = |rule: &UpdateRule| config.bf16_moments(rule);
        if self.kept.iter().any(|kept| low(&kept.rule) != low(config.rule_for(&kept.name))) {
            return Err(ConfigError::Stored);
        }
        // The first by name, so that the same mistake gives the same message.
        let state = |rule: &UpdateRule| (rule.moments(), rule.keeps_norm());
        let unfit =
            self.kept.iter().filter(|kept| state(&kept.rule) != state(config.rule_for(&kept.name)));
        if let Some(Entry { name, rule, .. }) = unfit.min_by_key(|kept| &*kept.name) {
            let (parameter, next) = (name.clone(), config.rule_for(name));
            let (kept, needed) = (rule.moments(), next.moments());
            return Err(if kept == needed {
                ConfigError::Norm { parameter, old: rule.name(), new: next.name() }
            } else {
                ConfigError::Moments { parameter, kept, needed }
            });
        }
        Ok(())
    }

    /// Replaces the configuration by `config`, which is admitted.
    fn enforce(&mut self, config: &OptimizerConfig) {
        let counted = config.counts_lost_updates;
        for kept in &mut self.kept {
            kept.rule = *config.rule_for(&kept.name);
            kept.slot.lost = counted.then(|| kept.slot.lost.unwrap_or_default());
        }
        self.config = config.clone();
    }

    /// Returns the bytes that stores keep in addition to parameters, without the exponent per tensor, and the bytes of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let each = self.kept.iter().map(|kept| kept.slot.bytes());
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}
