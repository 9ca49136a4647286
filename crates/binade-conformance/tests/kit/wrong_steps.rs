//! Subjects that are wrong in one way each where verdicts, clipping and names meet in a step.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Slot, Toy};
use crate::toy_train::{self, Training};
use crate::wrong::without_one_nan;
use binade_conformance::{Clip, Result, Subject, TrainStep, UnscaleResult};
use binade_core::{DType, FoundInf, Named, NamedGrads};
use binade_master_weights::UpdateRule;

/// The toy, with one thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Amiss {
    GoesByTheVerdictBefore,
    StepsOnTwoFlags,
    PassesOverWhatIsBeside,
    DropsTheLastElement,
    DropsTheLastOfFive,
    ForgetsTheLastMomentOfFive,
    ForgetsTheLastMasterOfFive,
    RoundsHalvesAway,
    StepsWithUnclippedGradients,
    RoundsTheLimitToTheGradientsType,
    MeasuresNothingBeforeTheStep,
    TakesOneNanForANumber,
    FlushesParameters,
    MatchesByPlace,
    PassesOverStrangers,
    TakesTheSecondOfOneName,
    FitsGradientsToTheirParameters,
    StepsWithoutGradients,
    AgesWithoutAGradient,
}
use Amiss::*;

impl Fault for Amiss {
    fn train(
        &self,
        params: Vec<Named<Plain>>,
        turns: Vec<TrainStep<Plain>>,
    ) -> Result<Vec<Named<Plain>>> {
        let run = Run { amiss: *self, before: false, forgotten: None };
        toy_train::train(params, turns, &mut { run })
    }
}

/// State that a subject keeps from one turn to the next.
struct Run {
    amiss: Amiss,
    /// True where the turn before was raised.
    before: bool,
    /// A master that was not written, as it was before.
    forgotten: Option<f32>,
}

impl Training for Run {
    fn unscaled(&mut self, turn: &TrainStep<Plain>) -> Result<UnscaleResult<Plain>> {
        let clip = turn.clip.filter(|clip| match self.amiss {
            StepsWithUnclippedGradients => matches!(clip, Clip::Value(_)),
            _ => true,
        });
        let Some(clip) = clip else {
            let mut unscaled = Toy.unscale(turn.grads.clone(), turn.scale)?;
            if self.amiss == TakesOneNanForANumber {
                unscaled.found = Toy.unscale(without_one_nan(&turn.grads), turn.scale)?.found;
            }
            return Ok(unscaled);
        };
        let mut clipped = match (self.amiss, clip) {
            (RoundsTheLimitToTheGradientsType, Clip::Value(max)) => {
                let dtype = turn.grads.iter().find_map(|grad| Some(grad.value.as_ref()?.dtype()));
                let max = Plain::write(&[max], dtype.unwrap_or(DType::F32), &[]).read()[0];
                Toy.clip(turn.grads.clone(), turn.scale, Clip::Value(max))?
            }
            _ => Toy.clip(turn.grads.clone(), turn.scale, clip)?,
        };
        if self.amiss == MeasuresNothingBeforeTheStep {
            clipped.found = Toy.unscale(turn.grads.clone(), turn.scale)?.found;
        }
        Ok(clipped)
    }

    fn skips(&mut self, own: &FoundInf, beside: Option<&FoundInf>) -> bool {
        let flags = [own.is_raised(), beside.is_some_and(FoundInf::is_raised)];
        let now = flags.contains(&true);
        let before = std::mem::replace(&mut self.before, now);
        match self.amiss {
            GoesByTheVerdictBefore => before,
            StepsOnTwoFlags => flags[0] != flags[1],
            PassesOverWhatIsBeside => flags[0],
            _ => now,
        }
    }

    fn matched(
        &mut self,
        params: &[Named<Plain>],
        grads: &NamedGrads<Plain>,
    ) -> Result<Vec<Option<usize>>> {
        let mut grads = grads.clone();
        let known = |name: &str| params.iter().position(|param| &*param.name == name);
        match self.amiss {
            MatchesByPlace if grads.len() == params.len() => {
                let places = grads.iter().enumerate();
                return Ok(places.map(|(at, grad)| grad.value.as_ref().map(|_| at)).collect());
            }
            PassesOverStrangers => grads.retain(|grad| known(&grad.name).is_some()),
            TakesTheSecondOfOneName => {
                let later = grads.clone();
                let mut at = 0;
                grads.retain(|grad| {
                    at += 1;
                    later[at..].iter().all(|other| other.name != grad.name)
                });
            }
            FitsGradientsToTheirParameters => {
                for grad in &mut grads {
                    if let (Some(value), Some(place)) = (&mut grad.value, known(&grad.name)) {
                        let shape = params[place].value.shape();
                        let mut values = value.read();
                        values.resize(shape.iter().product(), 0.0);
                        *value = Plain::write(&values, value.dtype(), shape);
                    }
                }
            }
            StepsWithoutGradients if grads.iter().all(|grad| grad.value.is_none()) => {
                return Ok((0..params.len()).map(Some).collect());
            }
            _ => {}
        }
        Toy.matched(params, &grads)
    }

    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        if skipped {
            return Ok(());
        }
        if let (Some(forgotten), Some(last)) = (self.forgotten.take(), slot.master.last_mut()) {
            *last = forgotten;
        }
        let before = slot.master.last().copied();
        let mut fitted = grad.to_vec();
        fitted.resize(slot.master.len(), 0.0);
        slot.step(rule, &fitted)?;
        // The tail of a loop by vectors of eight.
        let drops = match self.amiss {
            DropsTheLastElement => !slot.master.len().is_multiple_of(8),
            DropsTheLastOfFive => slot.master.len() % 8 == 5,
            _ => false,
        };
        if drops {
            slot.master.pop();
            slot.master.extend(before);
        }
        if self.amiss == ForgetsTheLastMomentOfFive && slot.master.len() % 8 == 5 {
            slot.moments.iter_mut().filter_map(|all| all.last_mut()).for_each(|last| *last = 0.0);
        }
        if self.amiss == ForgetsTheLastMasterOfFive && slot.master.len() % 8 == 5 {
            self.forgotten = before;
        }
        if self.amiss == RoundsHalvesAway {
            let halves = slot.master.iter_mut().filter(|x| x.to_bits() & 0xffff == 0x8000);
            halves.for_each(|x| *x = f32::from_bits(x.to_bits() + 1));
        }
        if self.amiss == FlushesParameters {
            for x in slot.master.iter_mut().filter(|x| x.is_subnormal()) {
                *x = 0.0_f32.copysign(*x);
            }
        }
        Ok(())
    }

    fn settle(&mut self, slot: &mut Slot, _: &Plain, has_gradient: bool) {
        if self.amiss == AgesWithoutAGradient && !has_gradient {
            slot.applied += 1;
        }
    }
}
