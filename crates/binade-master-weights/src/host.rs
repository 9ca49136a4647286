//! Masters and optimizer state in host memory, by parameter name.

use crate::{LostUpdates, MasterStore, Plan, Slot, StepConstants, UpdateRule, slot::Master};
use binade_core::DType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Masters and optimizer state of a set of parameters, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMasters {
    kept: HashMap<Arc<str>, Kept>,
    plan: Plan,
    /// The number of the parameter that is started first.
    first: usize,
}

/// A parameter's state and its rule, looked up in the plan once: the plan searches lists of names.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    slot: Slot,
    rule: UpdateRule,
}

/// A plan that does not go with what is kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
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
    pub fn new<'p>(plan: &Plan, names: impl Iterator<Item = &'p str>) -> Result<Self, PlanError> {
        match plan.unknown_parameter(distinct(names)?.into_iter()) {
            Some(name) => Err(PlanError::UnknownParameter(name.to_owned())),
            None => Ok(Self { kept: HashMap::new(), plan: plan.clone(), first: 0 }),
        }
    }

    /// Nothing yet, for parameters that are to join those kept here, all of them to be moved by `plan`.
    ///
    /// # Errors
    ///
    /// When one of `names` is kept here or comes twice, and what [`set_plan`](Self::set_plan) is refused for.
    pub fn joining<'p>(
        &self,
        plan: &Plan,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Self, PlanError> {
        let new = distinct(names)?;
        // The first by name, so that the same mistake gives the same message.
        if let Some(name) = new.iter().filter(|name| self.kept.contains_key(**name)).min() {
            return Err(PlanError::Joined((*name).to_owned()));
        }
        self.admits(plan, new)?;
        let first = self.first + self.kept.len();
        Ok(Self { kept: HashMap::new(), plan: plan.clone(), first })
    }

    /// Takes in parameters that were [`joining`](Self::joining), and moves all by their plan from the next step on.
    pub fn absorb(&mut self, joined: Self) {
        self.enforce(&joined.plan);
        self.kept.extend(joined.kept);
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
    ) -> Result<(), PlanError> {
        let store = self.plan.store();
        if !store.takes(stored) {
            return Err(PlanError::Store { parameter: name.clone(), store, stored });
        }
        let number = u32::try_from(self.first + self.kept.len()).unwrap_or(u32::MAX);
        let rule = *self.plan.rule_for(name);
        let mut slot = Slot::new(store, number, rule.moments(), values, stored);
        slot.lost = self.plan.counts_lost_updates().then(LostUpdates::default);
        self.kept.insert(name.clone(), Kept { slot, rule });
        Ok(())
    }

    /// Starts a parameter of `len` elements whose values and state are kept elsewhere, on a device: what is known of it here
    /// is its length, its type and its rule.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
    pub fn declare(&mut self, name: &Arc<str>, len: usize, stored: DType) -> Result<(), PlanError> {
        self.insert(name, Vec::new(), stored)?;
        if let Some(kept) = self.kept.get_mut(name) {
            kept.slot.len = len;
        }
        Ok(())
    }

    /// The rule that moves a parameter.
    pub fn rule(&self, name: &str) -> Option<&UpdateRule> {
        self.kept.get(name).map(|kept| &kept.rule)
    }

    /// Whether no parameter was started.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// What is kept for a parameter.
    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.kept.get(name).map(|kept| &kept.slot)
    }

    /// Whether a parameter that is stored as `stored` now should have a master and has none: it was lowered after it was
    /// started, and updates smaller than its rounding would be lost.
    pub(crate) fn lacks_master(&self, name: &str, stored: DType) -> bool {
        let kept = stored != DType::F32 && self.plan.store() != MasterStore::NoMaster;
        kept && self.get(name).is_some_and(|slot| slot.master == Master::Nothing)
    }

    /// Whether what is kept beside a parameter, stored as `stored` now, was made for another type and means nothing here.
    pub(crate) fn is_retyped(&self, name: &str, stored: DType) -> bool {
        let bound =
            |slot: &&Slot| matches!(slot.master, Master::Remainder(_) | Master::Compensation(_));
        self.get(name).filter(bound).is_some_and(|slot| slot.stored != stored)
    }

    /// What the last step of each parameter lost, together; `None` where the plan does not ask for it.
    pub fn lost_updates(&self) -> Option<LostUpdates> {
        self.plan.counts_lost_updates().then(|| {
            let mut all = LostUpdates::default();
            self.kept.values().filter_map(|kept| kept.slot.lost).for_each(|lost| all += lost);
            all
        })
    }

    /// What is kept for a parameter, and the constants of its next step.
    pub fn next(&mut self, name: &str) -> Option<(StepConstants, &mut Slot)> {
        self.kept.get_mut(name).map(Kept::next)
    }

    /// What [`next`](Self::next) gives, for every parameter at once and in no order: for whoever steps them side by side.
    pub fn next_of_all(&mut self) -> impl Iterator<Item = (&Arc<str>, StepConstants, &mut Slot)> {
        self.kept.iter_mut().map(|(name, kept)| {
            let (constants, slot) = kept.next();
            (name, constants, slot)
        })
    }

    /// Moves parameters by another plan from the next step on.
    ///
    /// # Errors
    ///
    /// When `plan` names a parameter that is not there, has another store or storage than the plan in force, or needs
    /// other moments than are kept; nothing has changed then.
    pub fn set_plan(&mut self, plan: &Plan) -> Result<(), PlanError> {
        self.admits(plan, HashSet::new())?;
        self.enforce(plan);
        Ok(())
    }

    /// Whether `plan` may follow the one in force, for what is kept and `new` names beside it.
    fn admits(&self, plan: &Plan, new: HashSet<&str>) -> Result<(), PlanError> {
        let known = self.kept.keys().map(|name| &**name).chain(new);
        if let Some(name) = plan.unknown_parameter(known) {
            return Err(PlanError::UnknownParameter(name.to_owned()));
        }
        if !self.plan.stores_as(plan) {
            return Err(PlanError::Stored);
        }
        // The first by name, so that the same mistake gives the same message.
        let unfit = self.kept.iter().filter(|(name, kept)| !kept.fits(plan.rule_for(name)));
        if let Some((name, kept)) = unfit.min_by_key(|(name, _)| &**name) {
            let (kept, needed) = (kept.rule.moments(), plan.rule_for(name).moments());
            return Err(PlanError::Moments { parameter: name.clone(), kept, needed });
        }
        Ok(())
    }

    /// Puts `plan` in force, which is admitted.
    fn enforce(&mut self, plan: &Plan) {
        let counted = plan.counts_lost_updates();
        for (name, kept) in &mut self.kept {
            kept.rule = *plan.rule_for(name);
            kept.slot.lost = counted.then(|| kept.slot.lost.unwrap_or_default());
        }
        self.plan = plan.clone();
    }

    /// Bytes of what stores keep beside parameters, but for an exponent a tensor, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let each = self.kept.values().map(|kept| kept.slot.bytes());
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// Names, each of which comes once.
fn distinct<'p>(names: impl Iterator<Item = &'p str>) -> Result<HashSet<&'p str>, PlanError> {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(PlanError::DuplicateParameter(name.to_owned()));
        }
    }
    Ok(known)
}

impl Kept {
    fn next(&mut self) -> (StepConstants, &mut Slot) {
        (StepConstants::at(&self.rule, self.slot.applied), &mut self.slot)
    }

    fn fits(&self, rule: &UpdateRule) -> bool {
        self.rule.moments() == rule.moments()
    }
}
