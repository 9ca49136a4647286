//! Masters and optimizer state in host memory, by parameter.

use crate::{
    HostParamState, LostUpdates, MasterStore, OptimizerConfig, StepConstants, UpdateRule,
    param_state::Master,
};
use binade_core::DType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Masters and optimizer state of a set of parameters, in host memory.
///
/// A parameter's id is its place among those that were started: steps go by ids, and names are looked up where a set's order has
/// changed.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMasters {
    /// By id.
    kept: Vec<Entry>,
    ids: HashMap<Arc<str>, usize>,
    plan: OptimizerConfig,
    /// The number of the parameter that is started first.
    first: usize,
}

/// A parameter's state and its rule, looked up in the plan once: the plan searches lists of names.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: Arc<str>,
    slot: HostParamState,
    rule: UpdateRule,
}

/// A plan that does not go with what is kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A name that no parameter has.
    #[error("the plan names `{0}`, and no parameter has that name; look for a typing error")]
    UnknownParameter(String),
    /// Two parameters of one name: which of them a gradient belongs to could not be told.
    #[error("two parameters are called `{0}`; give each a name of its own")]
    DuplicateParameter(String),
    /// A parameter that is to join, and is there.
    #[error("`{0}` is in the optimizer already; give the parameter that joins another name")]
    Joined(String),
    /// A store that cannot keep masters of a parameter's type.
    #[error(
        "`{parameter}` is stored as {stored}, of which `MasterStore::{store:?}` keeps no masters: it takes bf16 alone; \
         store the parameter as bf16, as `with_storage` does, or choose another store"
    )]
    Store {
        /// The parameter.
        parameter: Arc<str>,
        /// The plan's store.
        store: MasterStore,
        /// The parameter's type.
        stored: DType,
    },
    /// Another store or storage than the optimizer was started with.
    #[error(
        "the new plan has another `MasterStore` or storage, and neither can change in a running optimizer: derive the \
         plan from the one in force, as `plan.with_lr(…)` does, or start a new optimizer"
    )]
    Stored,
    /// Another number of moments.
    #[error(
        "`{parameter}` has {kept} moments and the new rule needs {needed}; start a new optimizer to change the rule's kind"
    )]
    Moments {
        /// The parameter.
        parameter: Arc<str>,
        /// Moments kept.
        kept: usize,
        /// Moments the rule needs.
        needed: usize,
    },
}

impl HostMasters {
    /// Nothing yet, to be moved by `plan`.
    ///
    /// # Errors
    ///
    /// When `plan` names a parameter that is not among `names`, or one of these comes twice.
    pub fn new<'p>(
        plan: &OptimizerConfig,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Self, ConfigError> {
        match plan.unknown_parameter(distinct(names)?.into_iter()) {
            Some(name) => Err(ConfigError::UnknownParameter(name.to_owned())),
            None => Ok(Self::empty(plan, 0)),
        }
    }

    /// Nothing yet, for parameters that are to join those kept here, all of them to be moved by `plan`.
    ///
    /// # Errors
    ///
    /// When one of `names` is kept here or comes twice, and what [`set_config`](Self::set_config) is refused for.
    pub fn joining<'p>(
        &self,
        plan: &OptimizerConfig,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Self, ConfigError> {
        let new = distinct(names)?;
        // The first by name, so that the same mistake gives the same message.
        if let Some(name) = new.iter().filter(|name| self.ids.contains_key(**name)).min() {
            return Err(ConfigError::Joined((*name).to_owned()));
        }
        self.admits(plan, new)?;
        Ok(Self::empty(plan, self.first + self.kept.len()))
    }

    fn empty(plan: &OptimizerConfig, first: usize) -> Self {
        Self { kept: Vec::new(), ids: HashMap::new(), plan: plan.clone(), first }
    }

    /// Takes in parameters that were [`joining`](Self::joining), and moves all by their plan from the next step on.
    pub fn absorb(&mut self, joined: Self) {
        self.enforce(&joined.plan);
        joined.kept.into_iter().for_each(|kept| self.push(kept));
    }

    fn push(&mut self, kept: Entry) {
        self.ids.insert(kept.name.clone(), self.kept.len());
        self.kept.push(kept);
    }

    /// Starts a parameter whose present values are `values`, to be stored as `stored`. Parameters are numbered in the order
    /// in which they are started.
    ///
    /// # Errors
    ///
    /// When the plan's store keeps no masters of this type.
    pub fn insert(
        &mut self,
        name: &Arc<str>,
        values: Vec<f32>,
        stored: DType,
    ) -> Result<(), ConfigError> {
        let store = self.plan.store();
        if !store.takes(stored) {
            return Err(ConfigError::Store { parameter: name.clone(), store, stored });
        }
        let number = u32::try_from(self.first + self.kept.len()).unwrap_or(u32::MAX);
        let rule = *self.plan.rule_for(name);
        let mut slot = HostParamState::new(store, number, rule.moments(), values, stored);
        slot.lost = self.plan.counts_lost_updates().then(LostUpdates::default);
        self.push(Entry { name: name.clone(), slot, rule });
        Ok(())
    }

    /// Starts a parameter of `len` elements whose values and state are kept elsewhere, on a device: what is known of it here
    /// is its length, its type and its rule.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
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

    /// Returns the id of a parameter: its place among those that were started.
    pub fn id(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// Returns the name of the parameter of this id.
    pub fn name(&self, id: usize) -> Option<&Arc<str>> {
        self.kept.get(id).map(|kept| &kept.name)
    }

    /// Returns true where `names` are those that were started, each in its place, so that places are ids. Names that are shared
    /// are not read.
    pub(crate) fn lists<'n>(&self, names: impl Iterator<Item = &'n Arc<str>>) -> bool {
        let mut kept = self.kept.iter();
        names.into_iter().all(|name| kept.next().is_some_and(|kept| is_same(&kept.name, name)))
            && kept.next().is_none()
    }

    /// Returns the rule that moves the parameter of this id.
    pub fn rule(&self, id: usize) -> Option<&UpdateRule> {
        self.kept.get(id).map(|kept| &kept.rule)
    }

    /// Returns the state of the parameter of this id.
    pub(crate) fn slot(&self, id: usize) -> Option<&HostParamState> {
        self.kept.get(id).map(|kept| &kept.slot)
    }

    /// Returns true if no parameter was started.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the state of a parameter.
    pub fn get(&self, name: &str) -> Option<&HostParamState> {
        self.slot(self.id(name)?)
    }

    /// Returns true if a parameter that is stored as `stored` now should have a master and has none: it was lowered after it was
    /// started, and updates smaller than its rounding would be lost.
    pub(crate) fn lacks_master(&self, slot: &HostParamState, stored: DType) -> bool {
        let kept = stored != DType::F32 && self.plan.store() != MasterStore::NoMaster;
        kept && slot.master == Master::Nothing
    }

    /// Returns the updates that the last step of each parameter lost, together; `None` where the plan does not ask for it.
    pub fn lost_updates(&self) -> Option<LostUpdates> {
        self.plan.counts_lost_updates().then(|| {
            let mut all = LostUpdates::default();
            self.kept.iter().filter_map(|kept| kept.slot.lost).for_each(|lost| all += lost);
            all
        })
    }

    /// Returns the constants of the next step of the parameter of this id, and its state.
    pub fn next(&mut self, id: usize) -> Option<(StepConstants, &mut HostParamState)> {
        self.kept.get_mut(id).map(Entry::next)
    }

    /// Returns [`next`](Self::next) of every parameter at once, by id: for steps side by side.
    pub fn next_of_all(&mut self) -> impl Iterator<Item = (StepConstants, &mut HostParamState)> {
        self.kept.iter_mut().map(Entry::next)
    }

    /// Moves parameters by another plan from the next step on.
    ///
    /// # Errors
    ///
    /// When `plan` names a parameter that is not there, has another store or storage than the plan in force, or needs
    /// other moments than are kept; nothing has changed then.
    pub fn set_config(&mut self, plan: &OptimizerConfig) -> Result<(), ConfigError> {
        self.admits(plan, HashSet::new())?;
        self.enforce(plan);
        Ok(())
    }

    /// Checks that `plan` may follow the one in force, for the parameters that have state and `new` names beside them.
    fn admits(&self, plan: &OptimizerConfig, new: HashSet<&str>) -> Result<(), ConfigError> {
        let known = self.kept.iter().map(|kept| &*kept.name).chain(new);
        if let Some(name) = plan.unknown_parameter(known) {
            return Err(ConfigError::UnknownParameter(name.to_owned()));
        }
        if !self.plan.stores_as(plan) {
            return Err(ConfigError::Stored);
        }
        // The first by name, so that the same mistake gives the same message.
        let unfit = self.kept.iter().filter(|kept| !kept.fits(plan.rule_for(&kept.name)));
        if let Some(Entry { name, rule, .. }) = unfit.min_by_key(|kept| &*kept.name) {
            let (kept, needed) = (rule.moments(), plan.rule_for(name).moments());
            return Err(ConfigError::Moments { parameter: name.clone(), kept, needed });
        }
        Ok(())
    }

    /// Puts `plan` in force, which is admitted.
    fn enforce(&mut self, plan: &OptimizerConfig) {
        let counted = plan.counts_lost_updates();
        for kept in &mut self.kept {
            kept.rule = *plan.rule_for(&kept.name);
            kept.slot.lost = counted.then(|| kept.slot.lost.unwrap_or_default());
        }
        self.plan = plan.clone();
    }

    /// Bytes of what stores keep beside parameters, but for an exponent a tensor, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let each = self.kept.iter().map(|kept| kept.slot.bytes());
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// Returns true where two names are the same; the letters of a shared one are not read.
pub(crate) fn is_same(a: &Arc<str>, b: &Arc<str>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// Names, each of which comes once.
fn distinct<'p>(names: impl Iterator<Item = &'p str>) -> Result<HashSet<&'p str>, ConfigError> {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(ConfigError::DuplicateParameter(name.to_owned()));
        }
    }
    Ok(known)
}

impl Entry {
    fn next(&mut self) -> (StepConstants, &mut HostParamState) {
        (StepConstants::at(&self.rule, self.slot.applied), &mut self.slot)
    }

    fn fits(&self, rule: &UpdateRule) -> bool {
        self.rule.moments() == rule.moments()
    }
}
