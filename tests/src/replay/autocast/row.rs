//! One operation on each mix of operand types, in a region.
//!
//! torch outside of any region is the oracle: the casts that our policy decides on, done by hand, must give the type that
//! torch gives in a region. So no table here says what types an operation returns.

use super::format::{Outcome, Rows};
use super::names::Device;
use crate::replay::differences::Difference;
use crate::replay::dtype;
use crate::replay::error::Wrong;
use crate::replay::notes::Notes;
use binade_cast_policy::{CastPolicy, CastRule, Decision, OpCall, PolicyError};
use binade_core::{DType, Op, OpClass};

/// An operation as it was called in a region of one type.
pub(super) struct Called<'a> {
    pub(super) device: Device,
    pub(super) region: DType,
    pub(super) name: &'a str,
    /// Outside of any region.
    pub(super) plain: &'a Rows,
}

impl<'a> Called<'a> {
    pub(super) fn row(&self, mix: &str, torch: &Outcome, notes: &mut Notes) -> Result<(), Wrong> {
        let operands = mix.split(',').map(dtype::named).collect::<Result<Vec<_>, _>>()?;
        if let Some(reason) = self.left_out(&operands) {
            notes.skipped(reason, 1);
            return Ok(());
        }
        let op = Op::custom(self.device.registered(self.name).to_owned().leak(), OpClass::Other);
        let call = OpCall::new(op, &operands);
        match self.device.table().rule(&call).decide(&call, self.region) {
            Ok(decision) => self.decided(decision, mix, &operands, torch, notes),
            Err(refusal) if is_refused(&refusal, torch) => {
                notes.compared("operations refused in a region", 1);
                Ok(())
            }
            Err(refusal) if after_f32(&refusal, &operands) => {
                notes.differs(Difference::PromotionByOrder);
                let decision = CastRule::Promote.decide(&call, self.region);
                let decision = decision.map_err(|refusal| Wrong::Result(refusal.to_string()))?;
                self.decided(decision, mix, &operands, torch, notes)
            }
            Err(refusal) => {
                Err(Wrong::Result(format!("it is refused, and was {torch}: {refusal}")))
            }
        }
    }

    fn left_out(&self, operands: &[DType]) -> Option<&'static str> {
        let is_mixed = operands.iter().any(|dtype| *dtype != operands[0]);
        let is_wide = operands.iter().any(|dtype| !dtype.is_castable());
        if self.device.is_composite(self.name) {
            return Some(
                "results of cells, which CPUs make of several operations, each by its own rule",
            );
        }
        (self.device == Device::Cuda && is_mixed && is_wide).then_some(
            "results on CUDA of mixes with what is never cast: recorded without a GPU, whose kernels check types",
        )
    }

    /// The types that our casts lead to gave the same outside.
    fn decided(
        &self,
        decision: Decision,
        mix: &str,
        operands: &[DType],
        torch: &Outcome,
        notes: &mut Notes,
    ) -> Result<(), Wrong> {
        // An f32 result of operands that stay is what operands cast to f32 give.
        let to = |d: DType| decision.cast(d).or(decision.output.filter(|_| d.is_castable()));
        let cast: Vec<_> = operands.iter().map(|&d| to(d).unwrap_or(d).name()).collect();
        let cast = cast.join(",");
        let Some(expected) = self.checked(mix).or_else(|| self.plain.get(&cast)) else {
            notes.skipped("results of types that were not recorded outside of a region", 1);
            return Ok(());
        };
        if expected == torch {
            notes.compared("results of operations in a region", 1);
            return Ok(());
        }
        Err(Wrong::Result(format!("outside of it {cast} is {expected}, and it was {torch}")))
    }

    /// Returns the error that it raised before anything was cast.
    fn checked(&self, mix: &str) -> Option<&'a Outcome> {
        let given = self.plain.get(mix).filter(|_| self.device.checks_first(self.name));
        given.filter(|outcome| outcome.error().is_some())
    }
}

/// Returns true if torch refused for the same reason.
fn is_refused(refusal: &PolicyError, torch: &Outcome) -> bool {
    let reason = match refusal {
        PolicyError::Conflict { .. } => {
            "Unexpected floating ScalarType in at::autocast::prioritize"
        }
        PolicyError::Banned { .. } => "are unsafe to autocast",
        _ => return false,
    };
    torch.error().is_some_and(|error| error.contains(reason))
}

/// Returns true if `f32` comes before the type that we refuse, where torch promotes.
fn after_f32(refusal: &PolicyError, operands: &[DType]) -> bool {
    match refusal {
        PolicyError::Conflict { operand, .. } => operands[..*operand].contains(&DType::F32),
        _ => false,
    }
}
