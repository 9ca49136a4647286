//! Decisions: the casts that a rule means in a region.

use crate::{CastRule, OpCall};
use binade_core::{DType, ErrorKind, promote};
use std::{fmt, sync::Arc};

/// Casts of one call in a region of one type, by a rule.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Decision {
    /// Type that every castable operand is cast to; `None` to leave them.
    pub operands: Option<DType>,
    /// Type of result to ask for; `None` if it follows from the operands.
    pub output: Option<DType>,
    /// True if `operands` was found among the operands themselves.
    pub promoted: bool,
}

impl Decision {
    /// Returns the type that an operand of type `from` has to be cast to; `None` if it stays as it is.
    pub fn cast(&self, from: DType) -> Option<DType> {
        self.operands.filter(|&to| from.is_castable() && from != to)
    }
}

/// Reason why a policy, a region of it, or an operation in that region is refused.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// Operation that the policy bans.
    #[error("{site} is banned in an autocast region: {advice}")]
    Banned {
        /// Operation, and its place.
        site: Site,
        /// Advice on what to do instead.
        advice: Arc<str>,
    },
    /// Operation that a strict policy does not know.
    #[error(
        "{site} is on no list and the policy is strict: say what it needs, \
         as in `table.register(\"{name}\", CastRule::Untouched)`",
        name = site.op
    )]
    Unlisted {
        /// Operation, and its place.
        site: Site,
    },
    /// Operand whose type can be promoted neither to the region's nor to `f32`.
    #[error(
        "operand {operand} of {site} is {dtype} in a {region} region, which this policy does not promote: \
         cast it to {region} or f32 first, or override the rule with `CastRule::Promote`"
    )]
    Conflict {
        /// Operation, and its place.
        site: Site,
        /// Index of the first such operand.
        operand: usize,
        /// Type of the operand.
        dtype: DType,
        /// Type of the region.
        region: DType,
    },
    /// Rule that casts to a type that is not floating-point.
    #[error(
        "operands of {site} cannot be cast to {dtype}: give `CastRule::To` a floating-point type"
    )]
    Target {
        /// Operation, and its place.
        site: Site,
        /// Type of the rule.
        dtype: DType,
    },
    /// Override that can never apply.
    #[error(
        "the override for {when} can never apply: shapes tell no reduction length of `{op}`; go by its name or its path alone"
    )]
    Inapplicable {
        /// Condition of the override.
        when: String,
        /// Operation that it names.
        op: Box<str>,
    },
    /// Id of no preset.
    #[error("no preset is called `{id}`; there are {}", crate::OpTable::IDS.join(", "))]
    Preset {
        /// Id asked for.
        id: Box<str>,
    },
    /// Type that a region cannot compute in.
    #[error("a region cannot compute in {dtype}: {why}")]
    Region {
        /// Type asked for.
        dtype: DType,
        /// Reason, and the types to take.
        why: &'static str,
    },
}

impl binade_core::Error for PolicyError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Banned { .. } | Self::Unlisted { .. } => ErrorKind::Unsupported,
            Self::Conflict { .. } => ErrorKind::Mismatch,
            Self::Target { .. }
            | Self::Inapplicable { .. }
            | Self::Preset { .. }
            | Self::Region { .. } => ErrorKind::InvalidArgument,
        }
    }
}

/// Operation and its place, as errors and explanations name it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Site {
    /// Name of the operation.
    pub op: &'static str,
    /// Place in the model; empty if unknown.
    pub path: Box<str>,
}

impl From<&OpCall<'_>> for Site {
    fn from(call: &OpCall<'_>) -> Self {
        Self { op: call.op.name(), path: call.path.into() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.op)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " at `{}`", self.path) }
    }
}

impl CastRule {
    /// Returns the casts that this rule means for `call` in a region of type `region`. Allocates nothing unless it refuses.
    ///
    /// # Errors
    ///
    /// If the rule refuses the operation, or its promotion refuses an operand.
    pub fn decide(&self, call: &OpCall<'_>, region: DType) -> Result<Decision, PolicyError> {
        let to = |dtype| Decision { operands: Some(dtype), ..Decision::default() };
        Ok(match self {
            Self::Untouched => Decision::default(),
            Self::Lower => to(region),
            Self::F32 => to(DType::F32),
            Self::To(dtype) if dtype.is_float() => to(*dtype),
            Self::To(dtype) => {
                return Err(PolicyError::Target { site: call.into(), dtype: *dtype });
            }
            Self::F32Output => Decision { output: output(call), ..Decision::default() },
            Self::Promote => promoted(call),
            Self::PromoteStrict => match stranger(call, region) {
                Some((operand, dtype)) => {
                    return Err(PolicyError::Conflict {
                        site: call.into(),
                        operand,
                        dtype,
                        region,
                    });
                }
                None => promoted(call),
            },
            Self::Banned(advice) => {
                return Err(PolicyError::Banned { site: call.into(), advice: advice.clone() });
            }
            Self::Unlisted => return Err(PolicyError::Unlisted { site: call.into() }),
        })
    }
}

/// Returns the type of the result; torch looks at the first operand alone.
fn output(call: &OpCall<'_>) -> Option<DType> {
    call.operands.first().filter(|d| d.is_castable()).map(|_| DType::F32)
}

fn promoted(call: &OpCall<'_>) -> Decision {
    Decision { operands: promote(call.operands), promoted: true, output: None }
}

/// Returns the first castable operand that is neither of the region's type nor `f32`. (`at::autocast::prioritize` in torch 2.15
/// lets it pass after an `f32` operand and raises before one.)
fn stranger(call: &OpCall<'_>, region: DType) -> Option<(usize, DType)> {
    let strange = |d: DType| d.is_castable() && d != region && d != DType::F32;
    call.operands.iter().copied().enumerate().find(|&(_, d)| strange(d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use binade_core::Op;

    const BF16: DType = DType::BF16;
    const F16: DType = DType::F16;
    const F32: DType = DType::F32;

    fn operands(rule: &CastRule, operands: &[DType], region: DType) -> Option<DType> {
        rule.decide(&OpCall::new(Op::ADD, operands), region).unwrap().operands
    }

    #[test]
    fn promotion_takes_the_widest_and_bf16_with_f16_is_f32() {
        for (given, widest) in [
            (&[BF16, BF16][..], BF16),
            (&[BF16, F32], F32),
            (&[F32, F16], F32),
            (&[BF16, F16], F32),
            (&[F16, BF16], F32),
            (&[F16, F16, BF16], F32),
            (&[DType::E4M3, F16], F16),
            (&[DType::E5M2, BF16], BF16),
            (&[DType::E4M3, DType::E5M2], F32),
            (&[DType::E4M3, DType::E5M2, BF16], BF16),
        ] {
            assert_eq!(operands(&CastRule::Promote, given, F16), Some(widest), "{given:?}");
        }
    }

    #[test]
    fn promotion_ignores_f64_and_integers() {
        assert_eq!(operands(&CastRule::Promote, &[DType::F64, F16, DType::I64], F16), Some(F16));
        assert_eq!(operands(&CastRule::Promote, &[DType::F64, DType::I32], F16), None);
    }

    #[test]
    fn strict_promotion_refuses_a_foreign_type_by_its_place_whatever_the_order() {
        for (given, region, place, strange) in [
            (&[F32, BF16][..], F16, 1, BF16),
            (&[BF16, F32], F16, 0, BF16),
            (&[F16, BF16], F16, 1, BF16),
            (&[BF16, F16], F16, 0, BF16),
            (&[DType::I64, BF16, DType::E4M3, F32], BF16, 2, DType::E4M3),
            (&[DType::I64, F16, DType::E5M2, F32], F16, 2, DType::E5M2),
        ] {
            let refused = CastRule::PromoteStrict.decide(&OpCall::new(Op::ADD, given), region);
            let refused = refused.unwrap_err();
            assert_eq!(binade_core::Error::kind(&refused), ErrorKind::Mismatch);
            let PolicyError::Conflict { operand, dtype, .. } = refused else { panic!("{refused}") };
            assert_eq!((operand, dtype), (place, strange), "{given:?}");
        }
        assert_eq!(operands(&CastRule::PromoteStrict, &[F16, F32, DType::F64], F16), Some(F32));
    }

    #[test]
    fn strict_promotion_takes_the_regions_type_unless_there_is_f32() {
        for region in [BF16, F16] {
            let strict = |given: &[DType]| operands(&CastRule::PromoteStrict, given, region);
            assert_eq!(strict(&[region, DType::I64, region]), Some(region));
            assert_eq!(strict(&[region, F32]), Some(F32));
            assert_eq!(strict(&[DType::F64, F32]), Some(F32));
            assert_eq!(strict(&[DType::F64, DType::Bool]), None);
        }
    }

    #[test]
    fn f64_and_integers_are_never_cast() {
        let decision = CastRule::Lower.decide(&OpCall::new(Op::MATMUL, &[]), BF16).unwrap();
        for dtype in [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool] {
            assert_eq!(decision.cast(dtype), None);
        }
        assert_eq!(decision.cast(F32), Some(BF16));
        assert_eq!(decision.cast(BF16), None);
    }

    #[test]
    fn a_rule_casts_to_any_float_whatever_the_regions_type_and_to_nothing_else() {
        for to in [BF16, F16, F32, DType::E4M3, DType::F64] {
            assert_eq!(operands(&CastRule::To(to), &[F32, DType::I64], F16), Some(to));
        }
        let refused = CastRule::To(DType::I64).decide(&OpCall::new(Op::ADD, &[F32]), F16);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "operands of `add` cannot be cast to i64: give `CastRule::To` a floating-point type"
        );
    }

    #[test]
    fn an_f32_output_leaves_operands_and_is_asked_for_by_the_first_alone() {
        let decide =
            |given: &[DType]| CastRule::F32Output.decide(&OpCall::new(Op::SUM, given), F16);
        let asked = decide(&[F16]).unwrap();
        assert_eq!((asked.operands, asked.output), (None, Some(F32)));
        assert_eq!(decide(&[DType::F64, F16]).unwrap().output, None);
    }
}
