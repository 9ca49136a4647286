//! Exceptions to a policy, as a layer over it.

use crate::{CastPolicy, CastRule, Glob, OpCall, PolicyError, op_sizes::has_no_length};
use std::{borrow::Cow, fmt};

/// Condition of an override, which holds if all of its parts hold. By default it has no parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// Name of the operation.
    pub op: Option<Box<str>>,
    /// Pattern that covers the path.
    pub path: Option<Glob>,
    /// Number of elements summed into one result: the operation must sum more.
    ///
    /// [`OpCall::with_shapes`] has the operations that sum. If [`op`](Self::op) names another of Binade's own operations, the
    /// policy is refused when a region is made of it. A call whose [`reduction`](OpCall::reduction) is unknown never fulfils it,
    /// such as one on a device that does not tell shapes.
    pub reduction_above: Option<u64>,
    /// Number of elements summed into one result: the operation must sum fewer. Otherwise as [`reduction_above`](Self::reduction_above).
    pub reduction_below: Option<u64>,
}

impl Condition {
    /// Returns true if all parts hold for `call`. Allocates nothing.
    fn holds(&self, call: &OpCall<'_>) -> bool {
        let length = call.reduction;
        self.op.as_ref().is_none_or(|op| **op == *call.op.name())
            && self.path.as_ref().is_none_or(|glob| glob.covers(call.path))
            && self.reduction_above.is_none_or(|bound| length.is_some_and(|length| length > bound))
            && self.reduction_below.is_none_or(|bound| length.is_some_and(|length| length < bound))
    }

    /// Refuses a condition that no call can fulfil.
    fn check(&self) -> Result<(), PolicyError> {
        let bounded = self.reduction_above.or(self.reduction_below).is_some();
        match self.op.as_deref() {
            Some(op) if bounded && has_no_length(op) => {
                Err(PolicyError::Inapplicable { when: self.to_string(), op: op.into() })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.op.iter().map(|op| format!("op `{op}`"));
        let path = self.path.iter().map(|path| format!("path `{path}`"));
        let above = self.reduction_above.iter().map(|bound| format!("reduction length > {bound}"));
        let below = self.reduction_below.iter().map(|bound| format!("reduction length < {bound}"));
        let parts: Vec<_> = op.chain(path).chain(above).chain(below).collect();
        if parts.is_empty() { f.write_str("always") } else { f.write_str(&parts.join(" and ")) }
    }
}

/// Policy with exceptions. The most recent exception that applies wins; if none applies, the policy below decides.
///
/// ```
/// use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides};
/// use binade_core::{DType, Op};
///
/// let long_sum =
///     Condition { op: Some("sum".into()), reduction_above: Some(4096), ..Condition::default() };
/// let policy = Overrides::over(OpTable::torch_cpu())
///     .path("encoder.*.norm", CastRule::F32)
///     .when(long_sum, CastRule::F32);
/// let norm = OpCall { path: "encoder.3.norm", ..OpCall::new(Op::LAYER_NORM, &[DType::BF16]) };
/// assert_eq!(policy.rule(&norm), CastRule::F32);
///
/// let sum = OpCall::new(Op::SUM, &[DType::BF16]);
/// assert_eq!(policy.rule(&sum), CastRule::Untouched);
/// assert_eq!(policy.rule(&OpCall { reduction: Some(1_000_000), ..sum }), CastRule::F32);
/// ```
#[derive(Clone, Debug, PartialEq)]
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
        self.when(Condition { op: Some(name.into()), ..Condition::default() }, rule)
    }

    /// Answers `rule` at paths that `pattern` covers; see [`Glob`].
    #[must_use]
    pub fn path(self, pattern: impl Into<Glob>, rule: CastRule) -> Self {
        self.when(Condition { path: Some(pattern.into()), ..Condition::default() }, rule)
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
        let reason =
            |(when, _): &(Condition, CastRule)| Cow::Owned(format!("an override says so ({when})"));
        self.exception(call).map_or_else(|| self.base.reason(call), reason)
    }

    fn check(&self) -> Result<(), PolicyError> {
        self.exceptions.iter().try_for_each(|(when, _)| when.check())?;
        self.base.check()
    }
}
