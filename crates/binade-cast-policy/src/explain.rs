//! Explanation of a rule in words, with the casts it causes.

use crate::{CastRule, Decision, OpCall, PolicyError, Site};
use binade_core::DType;
use std::{borrow::Cow, fmt};

/// Cast that a call causes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlannedCast {
    /// Index of the operand.
    pub operand: usize,
    /// Type before the cast.
    pub from: DType,
    /// Type after the cast.
    pub to: DType,
    /// Bytes of the copy, if the call has the operand's number of elements.
    pub bytes: Option<u64>,
}

/// Rule that a policy has for a call, with its reason and its casts. Prints as a paragraph.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Operation and its place.
    pub site: Site,
    /// Type of the region.
    pub region: DType,
    /// Answer of the policy.
    pub rule: CastRule,
    /// List or override that gave the answer.
    pub reason: Cow<'static, str>,
    /// Decision that the rule makes here.
    pub decision: Result<Decision, PolicyError>,
    /// Casts that follow, by operand.
    pub casts: Vec<PlannedCast>,
    /// Extents that make its matrix product slower than it might be, if the call has them.
    pub uneven: Option<Uneven>,
}

/// Extents of a product whose rows do not begin at multiples of 16 bytes: in sixteen bits, those that are not multiples of 8.
///
/// Such products are right, and slower: matrix units are fed in pieces of 16 bytes (NVIDIA, "Matrix Multiplication Background
/// User's Guide", on Tensor Core requirements).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Uneven {
    /// Uneven extents, in the order of the call.
    pub extents: Vec<u64>,
    /// Type of the operands once they are cast.
    pub dtype: DType,
}

impl Explanation {
    /// Explains `rule`, given for `reason`, on `call` in a region of type `region`.
    pub(crate) fn new(
        rule: CastRule,
        reason: Cow<'static, str>,
        call: &OpCall<'_>,
        region: DType,
    ) -> Self {
        let decision = rule.decide(call, region);
        let casts = decision.as_ref().map(|d| casts(call, *d)).unwrap_or_default();
        let uneven = decision.as_ref().ok().and_then(|d| Uneven::of(call, *d));
        Self { site: call.into(), region, rule, reason, decision, casts, uneven }
    }
}

/// Bytes that are read at a time.
const PIECE: usize = 16;

impl Uneven {
    /// Returns the uneven extents of `call` once its operands are cast; `None` if there is none, or if the type is wider than 16
    /// bits.
    pub fn of(call: &OpCall<'_>, decision: Decision) -> Option<Self> {
        let first = *call.operands.first()?;
        let dtype = decision.cast(first).unwrap_or(first);
        let is_uneven = |extent: &u64| !extent.is_multiple_of((PIECE / dtype.bytes()) as u64);
        // Wider types are not fed to matrix units in this way.
        let extents = call
            .extents
            .into_iter()
            .flatten()
            .filter(|extent| dtype.bytes() <= 2 && is_uneven(extent));
        let extents: Vec<u64> = extents.collect();
        (!extents.is_empty()).then_some(Self { extents, dtype })
    }

    /// Returns the number that extents should be multiples of.
    fn multiple(&self) -> usize {
        PIECE / self.dtype.bytes()
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
        match self.casts.split_first() {
            None => f.write_str(" No operand is cast.")?,
            Some((first, rest)) => {
                write!(f, " It casts {first}")?;
                rest.iter().try_for_each(|cast| write!(f, ", {cast}"))?;
                f.write_str(".")?;
            }
        }
        self.uneven.as_ref().map_or(Ok(()), |uneven| write!(f, " {uneven}"))
    }
}

impl fmt::Display for Uneven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { extents, dtype } = self;
        let multiple = self.multiple();
        write!(
            f,
            "Of its product's extents {extents:?} are no multiples of {multiple}, so that rows of {dtype} begin between pieces \
             of {PIECE} bytes: it is right, and slower than it would be padded."
        )
    }
}

impl fmt::Display for PlannedCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operand {} from {} to {}", self.operand, self.from, self.to)?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, " ({bytes} bytes)"))
    }
}
