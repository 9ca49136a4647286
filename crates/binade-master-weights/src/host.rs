//! Masters and optimizer state in host memory, by parameter name.

use crate::{MasterStore, Plan, StepConstants};
use binade_core::DType;
use std::collections::HashMap;
use std::sync::Arc;

/// Masters and optimizer state of a set of parameters, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMasters {
    slots: HashMap<Arc<str>, Slot>,
    plan: Plan,
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
    Stranger(String),
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
    /// When `plan` names a parameter that is not among `names`.
    pub fn new<'p>(plan: &Plan, names: impl Iterator<Item = &'p str>) -> Result<Self, PlanError> {
        match plan.stranger(names) {
            Some(name) => Err(PlanError::Stranger(name.to_owned())),
            None => Ok(Self { slots: HashMap::new(), plan: plan.clone() }),
        }
    }

    /// Starts a parameter whose present values are `values`, to be stored as `stored`.
    pub fn insert(&mut self, name: &Arc<str>, values: Vec<f32>, stored: DType) {
        let (len, needed) = (values.len(), self.plan.rule_for(name).moments());
        let moments = [0, 1, 2].map(|i| if i < needed { vec![0.0; len] } else { Vec::new() });
        let copied = stored != DType::F32 && self.plan.store() == MasterStore::Copy;
        let master = copied.then_some(values);
        self.slots.insert(name.clone(), Slot { master, moments, len, applied: 0 });
    }

    /// What is kept for a parameter.
    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.slots.get(name)
    }

    /// What is kept for a parameter, and the constants of its next step.
    pub fn next(&mut self, name: &str) -> Option<(StepConstants, &mut Slot)> {
        let slot = self.slots.get_mut(name)?;
        Some((StepConstants::at(self.plan.rule_for(name), slot.applied), slot))
    }

    /// Moves parameters by another plan from the next step on. What is stored where stays.
    ///
    /// # Errors
    ///
    /// When `plan` names a parameter that is not there, or needs other moments than are kept; nothing has changed then.
    pub fn set_plan(&mut self, plan: &Plan) -> Result<(), PlanError> {
        if let Some(name) = plan.stranger(self.slots.keys().map(|name| &**name)) {
            return Err(PlanError::Stranger(name.to_owned()));
        }
        for (name, slot) in &self.slots {
            let kept = slot.moments.iter().filter(|moment| moment.len() == slot.len).count();
            let needed = plan.rule_for(name).moments();
            if kept != needed && slot.len > 0 {
                return Err(PlanError::Moments { parameter: name.clone(), kept, needed });
            }
        }
        self.plan = plan.clone();
        Ok(())
    }

    /// Bytes of masters, and of optimizer state.
    pub fn bytes(&self) -> (u64, u64) {
        let floats = |count: usize| 4 * count as u64;
        let masters =
            self.slots.values().map(|slot| floats(slot.master.as_ref().map_or(0, Vec::len)));
        let moments = self.slots.values().flat_map(|slot| &slot.moments).map(|m| floats(m.len()));
        (masters.sum(), moments.sum())
    }
}
