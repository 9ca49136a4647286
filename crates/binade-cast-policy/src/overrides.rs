//! Exceptions to a policy, as a layer over it.

use crate::{Attribute, CastPolicy, CastRule, Glob, OpCall, op_sizes::stated};
use binade_core::ErrorKind;
use std::{borrow::Cow, fmt};

/// Condition of an override: all of its parts hold.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Condition {
    pub(crate) op: Option<Box<str>>,
    pub(crate) path: Option<Glob>,
    /// Conditions by attribute, and in the order given for one, so that equal conditions compare equal.
    pub(crate) attributes: Vec<(Attribute, Compare)>,
}

/// Condition on an attribute. An attribute that the call does not have, or that is NaN, fulfils none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Compare {
    /// Greater than this number.
    Above(f64),
    /// Less than this number.
    Below(f64),
    /// Equal to this number.
    Equal(f64),
}

impl Compare {
    pub(crate) fn bound(self) -> f64 {
        match self {
            Self::Above(bound) | Self::Below(bound) | Self::Equal(bound) => bound,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Self::Above(bound) => value > bound,
            Self::Below(bound) => value < bound,
            Self::Equal(bound) => value == bound,
        }
    }
}

impl Condition {
    /// Creates a condition that always holds, until a part is added.
    pub fn always() -> Self {
        Self::default()
    }

    /// Restricts it to the operation of this name.
    #[must_use]
    pub fn op(self, name: impl Into<Box<str>>) -> Self {
        Self { op: Some(name.into()), ..self }
    }

    /// Restricts it to paths that this pattern covers.
    #[must_use]
    pub fn path(self, pattern: impl Into<Box<str>>) -> Self {
        Self { path: Some(Glob::new(pattern)), ..self }
    }

    /// Restricts it to calls whose attribute fulfils `is`.
    ///
    /// [`OpSizes`](crate::OpSizes) has the operations that state one. If [`op`](Self::op) names another of Binade's own operations,
    /// the policy is refused when a region is made of it. An operation of yours that states none never fulfils it, nor does any
    /// on a device that does not tell shapes.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute, is: Compare) -> Self {
        let at = self.attributes.partition_point(|(earlier, _)| *earlier <= attribute);
        self.attributes.insert(at, (attribute, is));
        self
    }

    /// Returns true if all parts hold for `call`. Allocates nothing.
    pub fn holds(&self, call: &OpCall<'_>) -> bool {
        let attribute = |&(attribute, is): &(Attribute, Compare)| {
            call.attribute(attribute).is_some_and(|v| is.holds(v))
        };
        self.op.as_ref().is_none_or(|op| **op == *call.op.name())
            && self.path.as_ref().is_none_or(|glob| glob.covers(call.path))
            && self.attributes.iter().all(attribute)
    }
}

/// Error of an override that can never apply.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the override for {when} can never apply: {why}")]
pub struct Inapplicable {
    /// Condition of the override.
    pub when: String,
    why: String,
}

impl binade_core::Error for Inapplicable {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

impl Condition {
    /// Refuses conditions that no call can fulfil.
    fn check(&self) -> Result<(), Inapplicable> {
        let why = self.attributes.iter().find_map(|&(attribute, is)| self.never(attribute, is));
        why.map_or(Ok(()), |why| Err(Inapplicable { when: self.to_string(), why }))
    }

    fn never(&self, attribute: Attribute, is: Compare) -> Option<String> {
        let name = attribute.name();
        if is.bound().is_nan() {
            return Some(format!("`{name}` is compared with NaN; give a number"));
        }
        let op = self.op.as_deref()?;
        let missing = !stated(op)?.contains(&attribute);
        missing.then(|| format!("`{op}` has no `{name}`; go by its name or its path alone"))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.op.iter().map(|op| format!("op `{op}`"));
        let path = self.path.iter().map(|path| format!("path `{path}`"));
        let attributes = self.attributes.iter().map(|(a, is)| match is {
            Compare::Above(bound) => format!("{a:?} > {bound}"),
            Compare::Below(bound) => format!("{a:?} < {bound}"),
            Compare::Equal(bound) => format!("{a:?} = {bound}"),
        });
        let parts: Vec<_> = op.chain(path).chain(attributes).collect();
        if parts.is_empty() { f.write_str("always") } else { f.write_str(&parts.join(" and ")) }
    }
}

/// Policy with exceptions. The most recent exception that applies wins, whatever it depends on; if none does, the policy below
/// answers.
///
/// ```
/// use binade_cast_policy::{Attribute, CastPolicy, CastRule, Compare, OpCall, OpTable, Overrides, Condition};
/// use binade_core::{DType, Op};
///
/// let policy = Overrides::over(OpTable::torch_cpu())
///     .path("encoder.*.norm", CastRule::F32)
///     .when(
///         Condition::always().op("sum").attribute(Attribute::ReductionLength, Compare::Above(4096.0)),
///         CastRule::F32,
///     );
/// let norm = OpCall::new(Op::LAYER_NORM, &[DType::BF16]).with_path("encoder.3.norm");
/// assert_eq!(policy.rule(&norm), CastRule::F32);
///
/// let long = [(Attribute::ReductionLength, 1e6)];
/// let sum = OpCall::new(Op::SUM, &[DType::BF16]);
/// assert_eq!(policy.rule(&sum), CastRule::Untouched);
/// assert_eq!(policy.rule(&sum.with_attributes(&long)), CastRule::F32);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Overrides<P> {
    pub(crate) base: P,
    pub(crate) exceptions: Vec<(Condition, CastRule)>,
}

impl<P> Overrides<P> {
    /// Creates a layer over `base`, with no exceptions yet.
    pub const fn over(base: P) -> Self {
        Self { base, exceptions: Vec::new() }
    }

    /// Answers `rule` if `when` holds, before all earlier overrides.
    #[must_use]
    pub fn when(mut self, when: Condition, rule: CastRule) -> Self {
        self.exceptions.push((when, rule));
        self
    }

    /// Answers `rule` for the operation of this name.
    #[must_use]
    pub fn op(self, name: impl Into<Box<str>>, rule: CastRule) -> Self {
        self.when(Condition::always().op(name), rule)
    }

    /// Answers `rule` at paths that `pattern` covers; see [`Glob`].
    #[must_use]
    pub fn path(self, pattern: impl Into<Box<str>>, rule: CastRule) -> Self {
        self.when(Condition::always().path(pattern), rule)
    }

    /// Returns the policy below.
    pub const fn base(&self) -> &P {
        &self.base
    }

    fn exception(&self, call: &OpCall<'_>) -> Option<&(Condition, CastRule)> {
        self.exceptions.iter().rev().find(|(when, _)| when.holds(call))
    }
}

impl<P: CastPolicy> CastPolicy for Overrides<P> {
    fn rule(&self, call: &OpCall<'_>) -> CastRule {
        self.exception(call).map_or_else(|| self.base.rule(call), |(_, rule)| rule.clone())
    }

    fn reason(&self, call: &OpCall<'_>) -> Cow<'static, str> {
        let said =
            |(when, _): &(Condition, CastRule)| Cow::Owned(format!("an override says so ({when})"));
        self.exception(call).map_or_else(|| self.base.reason(call), said)
    }

    fn check(&self) -> Result<(), Inapplicable> {
        self.exceptions.iter().try_for_each(|(when, _)| when.check())?;
        self.base.check()
    }
}
