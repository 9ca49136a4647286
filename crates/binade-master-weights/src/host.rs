//! Masters and optimizer state in host memory, by parameter name.

use crate::{MasterStore, Plan, StepConstants, UpdateRule};
use binade_core::DType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Masters and optimizer state of a set of parameters, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMasters {
    kept: HashMap<Arc<str>, Kept>,
    plan: Plan,
}

/// A parameter's state and its rule, looked up in the plan once: the plan searches lists of names.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    slot: Slot,
    rule: UpdateRule,
}

/// What is kept for one parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Its master, where it is stored in a low-precision type and masters are kept.
    pub master: Option<Vec<f32>>,
    /// Its state, in the rule's order; those that the rule does not keep are empty.
    pub moments: [Vec<f32>; 3],
    /// Elements.
    pub len: usize,
    /// Steps applied to it. Counted by parameter, as torch does: one without a gradient does not move.
    pub applied: u64,
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
        let mut known = HashSet::new();
        for name in names {
            if !known.insert(name) {
                return Err(PlanError::DuplicateParameter(name.to_owned()));
            }
        }
        match plan.unknown_parameter(known.into_iter()) {
            Some(name) => Err(PlanError::UnknownParameter(name.to_owned())),
            None => Ok(Self { kept: HashMap::new(), plan: plan.clone() }),
        }
    }

    /// Starts a parameter whose present values are `values`, to be stored as `stored`.
    pub fn insert(&mut self, name: &Arc<str>, values: Vec<f32>, stored: DType) {
        let (len, rule) = (values.len(), *self.plan.rule_for(name));
        let moment = |i| if i < rule.moments() { vec![0.0; len] } else { Vec::new() };
        let copied = stored != DType::F32 && self.plan.store() == MasterStore::Copy;
        let master = copied.then_some(values);
        let slot = Slot { master, moments: [0, 1, 2].map(moment), len, applied: 0 };
        self.kept.insert(name.clone(), Kept { slot, rule });
    }

    /// Starts a parameter of `len` elements whose values and state are kept elsewhere, on a device: what is known of it here
    /// is its length, its type and its rule.
    pub fn declare(&mut self, name: &Arc<str>, len: usize, stored: DType) {
        self.insert(name, Vec::new(), stored);
        if let Some(kept) = self.kept.get_mut(name) {
            kept.slot.len = len;
        }
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
    pub fn lacks_master(&self, name: &str, stored: DType) -> bool {
        let copied = stored != DType::F32 && self.plan.store() == MasterStore::Copy;
        copied && self.get(name).is_some_and(|slot| slot.master.is_none())
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
        if let Some(name) = plan.unknown_parameter(self.kept.keys().map(|name| &**name)) {
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
        for (name, kept) in &mut self.kept {
            kept.rule = *plan.rule_for(name);
        }
        self.plan = plan.clone();
        Ok(())
    }

    /// Bytes of masters, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let floats = |count: usize| 4 * count as u64;
        let slots = || self.kept.values().map(|kept| &kept.slot);
        let masters = slots().map(|slot| floats(slot.master.as_ref().map_or(0, Vec::len)));
        let moments = slots().flat_map(|slot| &slot.moments).map(|moment| floats(moment.len()));
        (masters.sum(), moments.sum())
    }
}

impl Kept {
    fn next(&mut self) -> (StepConstants, &mut Slot) {
        (StepConstants::at(&self.rule, self.slot.applied), &mut self.slot)
    }

    fn fits(&self, rule: &UpdateRule) -> bool {
        self.rule.moments() == rule.moments()
    }
}
