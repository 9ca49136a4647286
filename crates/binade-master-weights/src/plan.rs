//! Which rule moves which parameter, and where its master is kept.

use crate::{RuleError, UpdateRule};

/// Where the `f32` value of a low-precision parameter is kept between steps.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MasterStore {
    /// In an `f32` copy of its own: 4 bytes a parameter.
    #[default]
    Copy,
    /// Nowhere: each step widens the parameter and rounds it back, and an update smaller than half a unit in its last
    /// place is lost. Apex's O3; a baseline for speed, not for training.
    Forgotten,
}

/// Which rule moves which parameter, and where masters are kept: data, so that one fused kernel can take it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan {
    rule: UpdateRule,
    groups: Vec<Group>,
    store: MasterStore,
}

/// Parameters that move by a rule of their own.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Group {
    /// Their names.
    pub parameters: Vec<String>,
    /// Their rule.
    pub rule: UpdateRule,
}

impl Plan {
    /// Every parameter by `rule`, masters in `f32` copies.
    ///
    /// # Errors
    ///
    /// When `rule` has a value it is not defined for.
    pub fn new(rule: UpdateRule) -> Result<Self, RuleError> {
        rule.validate()?;
        Ok(Self { rule, groups: Vec::new(), store: MasterStore::Copy })
    }

    /// Moves the named parameters by a rule of their own; a later group takes over from an earlier one.
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
        let parameters = parameters.into_iter().map(Into::into).collect();
        self.groups.push(Group { parameters, rule });
        Ok(self)
    }

    /// Keeps masters of low-precision parameters as `store` says.
    #[must_use]
    pub fn with_store(self, store: MasterStore) -> Self {
        Self { store, ..self }
    }

    /// The same plan at another learning rate, groups included.
    ///
    /// # Errors
    ///
    /// When `lr` is not one.
    pub fn with_lr(mut self, lr: f64) -> Result<Self, RuleError> {
        self.rule = self.rule.with_lr(lr);
        self.rule.validate()?;
        for group in &mut self.groups {
            group.rule = group.rule.with_lr(lr);
        }
        Ok(self)
    }

    /// The rule that moves `parameter`.
    pub fn rule_for(&self, parameter: &str) -> &UpdateRule {
        let own = |group: &&Group| group.parameters.iter().any(|name| name == parameter);
        self.groups.iter().rev().find(own).map_or(&self.rule, |group| &group.rule)
    }

    /// The rule of parameters that no group names.
    pub fn rule(&self) -> &UpdateRule {
        &self.rule
    }

    /// Groups in the order they were given.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Where masters are kept.
    pub fn store(&self) -> MasterStore {
        self.store
    }

    /// A name in some group that is not among `parameters`: most likely a typing error.
    pub fn stranger<'p>(&self, parameters: impl Iterator<Item = &'p str>) -> Option<&str> {
        let known: std::collections::HashSet<&str> = parameters.collect();
        let named = self.groups.iter().flat_map(|group| &group.parameters);
        named.map(String::as_str).find(|name| !known.contains(name))
    }
}
