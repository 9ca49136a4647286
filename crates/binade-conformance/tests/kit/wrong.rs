//! Subjects that are wrong in one way each.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Slot, Toy, plain};
use crate::toy_train::{self, Training};
use binade_conformance::{IterationFindings, Result, Subject, TrainStep, UnscaleResult};
use binade_core::{DType, FoundInf, Named, NamedGrads, Overflow};
use binade_grad_scaler::{LossScale, ScaleState};
use binade_master_weights::UpdateRule;
use half::f16;

/// The toy, with one thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wrong {
    FlushesSubnormals,
    RoundsHalfUp,
    LosesNanInOneLane,
    CastsTheFirstOfMany,
    OverflowsWhereItSaturates,
    Panics,
    MissesTheLastElement,
    MissesOneNan,
    LeavesTheLastElementScaled,
    LosesGradientsOfImportedScales,
    NamesTheLastOffender,
    UnscalesIntoF16,
    ChecksOnlyBefore,
    GrowsOneStepLate,
    HalvesAtTheFloor,
    StepsOnOverflow,
    DecaysOnOverflow,
    CountsSkippedSteps,
    UnscalesByTheNewScale,
    ForgetsMasters,
    AddsEpsilonInF16,
}
use Wrong::*;

impl Fault for Wrong {
    fn cast(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        assert!(*self != Panics, "not today");
        if tensor.dtype() == DType::F64 {
            return Toy.cast(tensor, to);
        }
        let lost = |i: usize, x: f32| *self == LosesNanInOneLane && i % 8 == 5 && x.is_nan();
        let values = tensor.read().into_iter().enumerate();
        let values = values.map(|(i, x)| if lost(i, x) { 0.0 } else { x });
        let narrowed = values.map(|x| if to == DType::F16 { self.before_f16(x) } else { x });
        Ok(Plain::write(&narrowed.collect::<Vec<f32>>(), to, tensor.shape()))
    }

    fn cast_all(&self, tensors: &[&Plain], to: DType) -> Result<Vec<Plain>> {
        let mut results = Toy.cast_all(tensors, to)?;
        if *self == CastsTheFirstOfMany {
            for result in results.iter_mut().skip(1) {
                *result = Plain::write(&vec![0.0; result.len()], result.dtype(), result.shape());
            }
        }
        Ok(results)
    }

    fn cast_saturating(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        match self {
            OverflowsWhereItSaturates => Toy.cast(tensor, to),
            _ => Toy.cast_saturating(tensor, to),
        }
    }

    fn unscale(&self, grads: NamedGrads<Plain>, scale: ScaleState) -> Result<UnscaleResult<Plain>> {
        let found = self.finding(&grads, scale)?;
        let mut divided = Toy.unscale(grads.clone(), scale)?.grads;
        for (after, before) in divided.iter_mut().zip(&grads) {
            if let (Some(after), Some(before)) = (&mut after.value, &before.value) {
                self.spoil(after, before);
            }
        }
        if *self == LosesGradientsOfImportedScales
            && scale.significand.to_bits() != 1.0_f32.to_bits()
        {
            divided.clear();
        }
        Ok(UnscaleResult { grads: divided, found })
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &IterationFindings,
    ) -> Result<ScaleState> {
        let mut rule = *rule;
        match self {
            GrowsOneStepLate => rule.growth_interval += 1,
            HalvesAtTheFloor => rule.min_exponent = -100,
            _ => {}
        }
        Toy.update_scale(&rule, scale, round)
    }

    fn train(
        &self,
        params: Vec<Named<Plain>>,
        mut turns: Vec<TrainStep<Plain>>,
    ) -> Result<Vec<Named<Plain>>> {
        if let (UnscalesByTheNewScale, Some(newest)) = (self, turns.last().map(|t| t.scale)) {
            for turn in &mut turns {
                turn.scale = newest;
            }
        }
        toy_train::train(params, turns, &mut { *self })
    }
}

impl Wrong {
    /// Value that replaces another before it is rounded to f16.
    fn before_f16(self, x: f32) -> f32 {
        let nearest = f16::from_f32(x).to_f32();
        match self {
            FlushesSubnormals if nearest.abs() < 2.0_f32.powi(-14) => 0.0_f32.copysign(x),
            // One unit of f32 away from zero, where x is finite and no number of f16: ties go up.
            RoundsHalfUp if x.is_finite() && nearest != x => f32::from_bits(x.to_bits() + 1),
            _ => x,
        }
    }

    fn finding(self, grads: &NamedGrads<Plain>, scale: ScaleState) -> Result<FoundInf> {
        let halted = scale.diverged;
        let found = match self {
            MissesTheLastElement => Toy.unscale(without_last(grads), scale)?.found,
            MissesOneNan => Toy.unscale(without_one_nan(grads), scale)?.found,
            ChecksOnlyBefore => Toy.unscale(grads.clone(), ScaleState::from_exponent(0))?.found,
            _ => Toy.unscale(grads.clone(), scale)?.found,
        };
        let overflow = match self {
            NamesTheLastOffender => last_offender(grads, scale),
            _ => found.overflow,
        };
        Ok(FoundInf { halted, overflow, ..found })
    }

    /// Makes of a gradient that was divided what this subject makes of it.
    fn spoil(self, after: &mut Plain, before: &Plain) {
        let mut values = after.read();
        match (self, values.last_mut(), before.read().last()) {
            (LeavesTheLastElementScaled, Some(last), Some(scaled)) => *last = *scaled,
            (UnscalesIntoF16, ..) => values = Plain::write(&values, DType::F16, &[]).read(),
            _ => {}
        }
        *after = Plain::write(&values, after.dtype(), after.shape());
    }

    /// 1e-8 is zero in f16.
    fn altered(self, mut rule: UpdateRule) -> UpdateRule {
        if let (AddsEpsilonInF16, UpdateRule::Adam(adam)) = (self, &mut rule) {
            adam.eps = 0.0;
        }
        rule
    }
}

impl Training for Wrong {
    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        match (*self, skipped) {
            (StepsOnOverflow, _) | (_, false) => slot.step(&self.altered(*rule), grad),
            (DecaysOnOverflow, true) => {
                decay(rule, slot);
                Ok(())
            }
            (CountsSkippedSteps, true) => {
                slot.applied += 1;
                Ok(())
            }
            (_, true) => Ok(()),
        }
    }

    fn settle(&mut self, slot: &mut Slot, param: &Plain, _: bool) {
        if *self == ForgetsMasters {
            slot.master = param.read();
        }
    }
}

/// Gradients as a pass sees them that ends one element early.
fn without_last(grads: &NamedGrads<Plain>) -> NamedGrads<Plain> {
    let mut grads = grads.clone();
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let mut bytes = grad.to_bits();
        let kept = grad.len().saturating_sub(1);
        bytes.truncate(kept * grad.dtype().bytes());
        *grad = plain(&bytes, grad.dtype(), &[kept]);
    }
    grads
}

/// Gradients as a pass sees them that takes the least of the negative signalling NaNs for a number.
pub(crate) fn without_one_nan(grads: &NamedGrads<Plain>) -> NamedGrads<Plain> {
    let mut grads = grads.clone();
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let missed: &[u8] = match grad.dtype() {
            DType::BF16 => &[0x81, 0xff],
            DType::F16 => &[0x01, 0xfc],
            _ => &[0x01, 0x00, 0x80, 0xff],
        };
        let mut bytes = grad.to_bits();
        for element in bytes.chunks_mut(missed.len()).filter(|element| *element == missed) {
            element.fill(0);
        }
        *grad = plain(&bytes, grad.dtype(), grad.shape());
    }
    grads
}

fn last_offender(grads: &NamedGrads<Plain>, scale: ScaleState) -> Option<Overflow> {
    let mut last = None;
    for Named { name, value } in grads {
        for (index, scaled) in value.iter().flat_map(Plain::read).enumerate() {
            let mut found = FoundInf::default();
            found.check(name, index as u64, scaled, scaled / scale.factor());
            last = found.overflow.or(last);
        }
    }
    last
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
fn decay(rule: &UpdateRule, slot: &mut Slot) {
    if let UpdateRule::Adam(rule) = rule {
        let kept = (1.0 - rule.lr * rule.weight_decay) as f32;
        slot.master = slot.master.iter().map(|p| p * kept).collect();
    }
}
