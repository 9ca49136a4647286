//! Subjects that are wrong in one way each where findings are joined and the scale moves unread.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Toy};
use binade_conformance::{
    Iteration, IterationResult, MergeResult, MicroBatch, Result, ScaleTrace, Subject,
};
use binade_core::DType;
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, ScaleStore};

/// The toy, with one thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Adrift {
    ScalesInTheTypeOfTheLoss,
    LeavesTheLastElementUnscaled,
    JoinsAllAsAny,
    JoinsAnyAsAll,
    NamesTheLaterOverflow,
    ForgetsTheOthersCounts,
    KeepsItsOwnMagnitude,
    MakesUpANorm,
    LetsAHaltPass,
    JoinsIntoClones,
    GoesByTheIterationBefore,
    KeepsTheFirstScale,
    CountsOnePassAsASkip,
    WantsAPass,
    ReadsWhatIsNow,
    ForgetsThatItDiverged,
    IsNeverReady,
}
use Adrift::*;

impl Fault for Adrift {
    fn scale(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        let scaled = Toy.scale(tensor, scale)?;
        Ok(match self {
            ScalesInTheTypeOfTheLoss => {
                let narrow = Plain::write(&scaled.read(), tensor.dtype(), tensor.shape());
                Plain::write(&narrow.read(), DType::F32, tensor.shape())
            }
            _ => scaled,
        })
    }

    fn unscale_tensor(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        let mut values = Toy.unscale_tensor(tensor, scale)?.read();
        if let (LeavesTheLastElementUnscaled, Some(last)) = (self, tensor.read().last()) {
            values.pop();
            values.push(*last);
        }
        Ok(Plain::write(&values, DType::F32, tensor.shape()))
    }

    fn merge(
        &self,
        into: MicroBatch<Plain>,
        from: MicroBatch<Plain>,
        join: MergeRule,
    ) -> Result<MergeResult> {
        let join = match self {
            JoinsAllAsAny => MergeRule::Any,
            JoinsAnyAsAll => MergeRule::All,
            _ => join,
        };
        let mut seen = Toy.merge(into, from, join)?;
        let MergeResult { joined, into, from } = &mut seen;
        match self {
            NamesTheLaterOverflow if joined.overflow.is_some() && from.overflow.is_some() => {
                joined.overflow.clone_from(&from.overflow);
            }
            ForgetsTheOthersCounts => {
                (joined.infinities, joined.nans) = (into.infinities, into.nans);
            }
            MakesUpANorm => joined.norm = Some(0.0),
            KeepsItsOwnMagnitude => joined.magnitude = into.magnitude,
            LetsAHaltPass => joined.halted &= from.halted,
            JoinsIntoClones => *into = joined.clone(),
            _ => {}
        }
        Ok(seen)
    }

    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Plain>>,
    ) -> Result<ScaleTrace> {
        let (mut scale, mut stages) = (start, Vec::<IterationResult>::new());
        for iteration in iterations {
            let mut next = Toy.iterate(rule, scale, vec![iteration])?.stages.remove(0);
            if let (GoesByTheIterationBefore, Some(last)) = (self, stages.last()) {
                next.verdict.clone_from(&last.verdict);
            }
            scale = self.moved(rule, scale, &next);
            next.ready = *self != IsNeverReady;
            stages.push(next);
        }
        if *self == ReadsWhatIsNow {
            for before in stages.iter_mut().filter_map(|stage| stage.before.as_mut()) {
                *before = scale;
            }
        }
        Ok(ScaleTrace { stages, scale })
    }
}

impl Adrift {
    fn moved(self, rule: &LossScale, scale: ScaleState, stage: &IterationResult) -> ScaleState {
        let (parts, verdicts): (Vec<_>, Vec<_>) =
            (stage.parts.iter().collect(), stage.verdict.iter().collect());
        let mut after = scale;
        binade_cpu::Cpu.update(&mut after, &parts, &verdicts, rule).expect("a host does not fail");
        let raised = stage.verdict.as_ref().is_some_and(binade_core::FoundInf::is_raised);
        match self {
            KeepsTheFirstScale => ScaleState { exponent: scale.exponent, ..after },
            CountsOnePassAsASkip if after.overflows > scale.overflows && !raised => {
                ScaleState { skipped: after.skipped + 1, bad_steps: after.bad_steps + 1, ..after }
            }
            WantsAPass if stage.parts.is_empty() => scale,
            ForgetsThatItDiverged => ScaleState { diverged: false, ..after },
            _ => after,
        }
    }
}
