//! Subjects that are wrong in one way each where sets are clipped and added, and where luck is shared.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Toy};
use crate::toy_sets::{self, each, norm};
use binade_conformance::{Clip, Layout, MicroBatch, Result, Subject, UnscaleResult};
use binade_core::{DType, FoundInf, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{Norm, ScaleState, clip_factor};
use half::f16;

/// The toy, with one thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Astray {
    SumsSquaresInF32,
    PassesOverNans,
    KeepsTheVerdictOfTheNorm,
    CountsTheNorm,
    MeasuresTheLastParameterAlone,
    DividesByMoreThanTheNorm,
    ClipsEachParameterAlone,
    MakesANanTheLimit,
    ClipsBeforeUnscaling,
    TakesAnyLimit,
    ForgetsCountsWhenClipping,
    AddsBadMicroBatches,
    SumsMicroBatchesInF16,
    FlushesSums,
    ZeroesWhatIsMissing,
    LosesWhatFollowsABadStart,
    AddsByPlace,
    RoundsToNearest,
    SharesOneWordAmongFour,
    ForgetsTheStep,
    ReusesBitsInEveryFourthParameter,
    ReadsFromTheStartOfTheBuffer,
    ReadsToTheEndOfTheBuffer,
    ReadsInTheOrderOfMemory,
}
use Astray::*;

impl Fault for Astray {
    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Plain> {
        let in_memory = match (self, layout) {
            (ReadsFromTheStartOfTheBuffer, Layout::Offset(_)) => true,
            (ReadsInTheOrderOfMemory, layout) => !matches!(layout, Layout::Offset(_)),
            _ => false,
        };
        if let (ReadsToTheEndOfTheBuffer, Layout::Offset(_)) = (self, layout) {
            let buffer = layout.buffer(bits, dtype, shape);
            return Toy.from_bits(&buffer[buffer.len() - bits.len()..], dtype, shape);
        }
        if in_memory {
            let buffer = layout.buffer(bits, dtype, shape);
            return Toy.from_bits(&buffer[..bits.len()], dtype, shape);
        }
        Toy.view(bits, dtype, shape, layout)
    }

    fn cast_stochastic(&self, tensor: &Plain, to: DType, key: Key) -> Result<Plain> {
        let word = toy_sets::word(match self {
            ForgetsTheStep => Key { step: 0, ..key },
            ReusesBitsInEveryFourthParameter => Key { parameter: key.parameter % 4, ..key },
            _ => key,
        });
        match self {
            RoundsToNearest => Toy.cast(tensor, to),
            SharesOneWordAmongFour => {
                Ok(toy_sets::cast_stochastic(tensor, to, |index| word(index / 4 * 4)))
            }
            _ => Ok(toy_sets::cast_stochastic(tensor, to, word)),
        }
    }

    fn norm(&self, grads: NamedGrads<Plain>, scale: ScaleState, which: Norm) -> Result<FoundInf> {
        let UnscaleResult { grads, mut found } = Toy.unscale(grads, scale)?;
        let raised = found.overflow.clone();
        found.record_norm(self.measure(grads, which));
        if *self == KeepsTheVerdictOfTheNorm {
            found.overflow.clone_from(&raised);
        }
        if *self == CountsTheNorm && raised.is_none() && found.overflow.is_some() {
            found.infinities += 1;
        }
        Ok(found)
    }

    fn clip(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<UnscaleResult<Plain>> {
        let given = grads.clone();
        if *self == ClipsBeforeUnscaling {
            let clipped = Toy.clip(given, ScaleState::from_exponent(0), clip)?.grads;
            return Toy.unscale(clipped, scale);
        }
        if *self == ForgetsCountsWhenClipping {
            let mut clipped = Toy.clip(given, scale, clip)?;
            clipped.found.infinities = 0;
            return Ok(clipped);
        }
        let UnscaleResult { mut grads, found } = Toy.unscale(grads, scale)?;
        match (self, clip) {
            (DividesByMoreThanTheNorm, Clip::Norm(which, max)) => {
                let factor = clip_factor(norm(&grads, which) + 1e-6, max);
                each(&mut grads, |x| x * factor);
            }
            (ClipsEachParameterAlone, Clip::Norm(which, max)) => alone(&mut grads, which, max),
            (MakesANanTheLimit, Clip::Value(max)) => each(&mut grads, |x| x.min(max).max(-max)),
            (TakesAnyLimit, Clip::Norm(_, max) | Clip::Value(max))
                if max.is_nan() || max <= 0.0 => {}
            _ => return Toy.clip(given, scale, clip),
        }
        Ok(UnscaleResult { grads, found })
    }

    fn accumulate(&self, mut window: Vec<MicroBatch<Plain>>) -> Result<NamedGrads<Plain>> {
        match self {
            AddsBadMicroBatches => {
                for micro in &mut window {
                    micro.scale.diverged = false;
                    tame(&mut micro.grads);
                }
            }
            ZeroesWhatIsMissing => window.iter_mut().for_each(fill),
            AddsByPlace => rename(&mut window),
            LosesWhatFollowsABadStart => {
                let start =
                    window.first().cloned().map(|first| Toy.unscale(first.grads, first.scale));
                if start.transpose()?.is_some_and(|start| start.found.is_raised()) {
                    window.truncate(1);
                }
            }
            _ => {}
        }
        if *self == SumsMicroBatchesInF16 {
            return in_f16(window);
        }
        let mut sums = Toy.accumulate(window)?;
        if *self == FlushesSums {
            for sum in sums.iter_mut().filter_map(|sum| sum.value.as_mut()) {
                let flushed = |x: f32| if x.is_subnormal() { 0.0 } else { x };
                let values: Vec<f32> = sum.read().into_iter().map(flushed).collect();
                *sum = Plain::write(&values, sum.dtype(), sum.shape());
            }
        }
        Ok(sums)
    }
}

impl Astray {
    fn measure(self, mut grads: NamedGrads<Plain>, which: Norm) -> f64 {
        match self {
            SumsSquaresInF32 if which == Norm::L2 => {
                let values = grads.iter().filter_map(|g| g.value.as_ref()).flat_map(Plain::read);
                f64::from(values.fold(0.0_f32, |sum, x| sum + x * x).sqrt())
            }
            PassesOverNans => {
                each(&mut grads, |x| if x.is_nan() { 0.0 } else { x });
                norm(&grads, which)
            }
            MeasuresTheLastParameterAlone => {
                let before = grads.len().saturating_sub(1);
                norm(&grads.split_off(before), which)
            }
            _ => norm(&grads, which),
        }
    }
}

fn alone(grads: &mut NamedGrads<Plain>, which: Norm, max: f32) {
    for grad in grads {
        let factor = clip_factor(norm(&vec![grad.clone()], which), max);
        each(std::slice::from_mut(grad), |x| x * factor);
    }
}

/// Rounds the sum to f16 after each micro-batch.
pub(crate) fn in_f16(window: Vec<MicroBatch<Plain>>) -> Result<NamedGrads<Plain>> {
    let mut sums = None;
    for micro in window {
        let so_far = sums.map(|grads| MicroBatch { grads, scale: ScaleState::from_exponent(0) });
        let mut sum = Toy.accumulate(so_far.into_iter().chain([micro]).collect())?;
        each(&mut sum, |x| f16::from_f32(x).to_f32());
        sums = Some(sum);
    }
    Ok(sums.unwrap_or_default())
}

/// Makes bad gradients look good: what is not finite becomes zero, the rest stays.
pub(crate) fn tame(grads: &mut NamedGrads<Plain>) {
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let values = grad.read().into_iter().map(|x| if x.is_finite() { x } else { 0.0 });
        *grad = Plain::write(&values.collect::<Vec<f32>>(), grad.dtype(), grad.shape());
    }
}

/// Every set by the names of the first, where they are as many.
fn rename(window: &mut [MicroBatch<Plain>]) {
    let names: Vec<_> =
        window.iter().take(1).flat_map(|micro| &micro.grads).map(|g| g.name.clone()).collect();
    for micro in window.iter_mut().filter(|micro| micro.grads.len() == names.len()) {
        for (grad, name) in micro.grads.iter_mut().zip(&names) {
            grad.name = name.clone();
        }
    }
}

/// Zeros where there is no gradient, of another's shape.
fn fill(micro: &mut MicroBatch<Plain>) {
    let like = micro.grads.iter().find_map(|grad| grad.value.clone());
    let zeros = like.map(|like| Plain::write(&vec![0.0; like.len()], like.dtype(), like.shape()));
    for Named { value, .. } in &mut micro.grads {
        *value = value.take().or(zeros.clone());
    }
}
