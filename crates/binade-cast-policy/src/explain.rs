//! A rule in words, with the casts it causes.

use crate::{CastRule, Decision, OpCall, Refusal, Site};
use binade_core::DType;
use std::{borrow::Cow, fmt};

/// One cast that a call causes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlannedCast {
    /// Which operand.
    pub operand: usize,
    /// Its type now.
    pub from: DType,
    /// Its type after.
    pub to: DType,
    /// Bytes of the copy, where the call says how many elements the operand has.
    pub bytes: Option<u64>,
}

/// What a policy does with a call, and why. Prints as a paragraph.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The operation and its place.
    pub site: Site,
    /// The region's type.
    pub region: DType,
    /// The policy's answer.
    pub rule: CastRule,
    /// Which list or override gave it.
    pub reason: Cow<'static, str>,
    /// What the rule means here.
    pub decision: Result<Decision, Refusal>,
    /// The casts that follow, by operand.
    pub casts: Vec<PlannedCast>,
}

impl Explanation {
    /// Explains `rule`, given for `reason`, on `call` in a region of type `region`.
    pub fn new(
        rule: CastRule,
        reason: Cow<'static, str>,
        call: &OpCall<'_>,
        region: DType,
    ) -> Self {
        let decision = rule.decide(call, region);
        let casts = decision.as_ref().map(|d| casts(call, *d)).unwrap_or_default();
        Self { site: call.into(), region, rule, reason, decision, casts }
    }

    /// Bytes of all copies, where every cast operand's size is known.
    pub fn bytes(&self) -> Option<u64> {
        self.casts.iter().map(|c| c.bytes).sum()
    }
}

fn casts(call: &OpCall<'_>, decision: Decision) -> Vec<PlannedCast> {
    let cast = |(operand, &from): (usize, &DType)| {
        let to = decision.cast(from)?;
        let bytes = call.elements.get(operand).map(|n| n * to.bytes() as u64);
        Some(PlannedCast { operand, from, to, bytes })
    };
    call.operands.iter().enumerate().filter_map(cast).collect()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in a {} region: {}, because {}.",
            self.site, self.region, self.rule, self.reason
        )?;
        match &self.decision {
            Err(refusal) => return write!(f, " It is refused: {refusal}."),
            Ok(Decision { output: Some(output), .. }) => {
                write!(f, " It is asked for an {output} result.")?;
            }
            Ok(_) => {}
        }
        let Some((first, rest)) = self.casts.split_first() else {
            return f.write_str(" No operand is cast.");
        };
        write!(f, " It casts {first}")?;
        rest.iter().try_for_each(|cast| write!(f, ", {cast}"))?;
        f.write_str(".")
    }
}

impl fmt::Display for PlannedCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operand {} from {} to {}", self.operand, self.from, self.to)?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, " ({bytes} bytes)"))
    }
}
