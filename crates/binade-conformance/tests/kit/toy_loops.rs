//! The toy's sparse gradients and whole iterations, and what can be wrong about one.

use crate::toy::{Plain, Slot, Toy};
use crate::toy_sets::{self, norm};
use crate::toy_stages::times;
use crate::wrong_sets::{in_f16, tame};
use binade_conformance::{
    Coalesce, Collected, Coordinates, Delayed, Led, Losses, Meet, MicroBatch, Refusal, Subject,
    Unscaled, Walked,
};
use binade_core::{DType, ErrorKind, Finding, Named, NamedGrads};
use binade_grad_scaler::{
    BadMicroBatch, DivergenceKind, Join, Norm, PartReport, ScaleState, Seen, Step, StepReport,
    StepSummary, Trajectory, join_findings, record_norm,
};

/// One thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Misled {
    AddsDuplicatesInTheirOwnType,
    ChecksBeforeDuplicatesAreAdded,
    RunsTheFirstDimensionFastest,
    TakesAnyIndex,
    ScalesByTheNewScale,
    UnscalesTheSumByTheNewScale,
    SumsPassesInF16,
    AddsBadPasses,
    LooksAtNoSum,
    LooksAtTheSumAlone,
    AppliesRecordedSkips,
    StepsOnOverflowsOfItsOwn,
    TellsOfNoParting,
    KeepsItsOwnScale,
    StaysHaltedAfterTheEnd,
    StartsAnewAfterTheEnd,
    MovesEveryScale,
    GivesTheSumToTheFirst,
    TakesTheNormForAnOverflow,
    CountsWhatIsLeftOutAsASkip,
}
use Misled::*;

const ONE: fn() -> ScaleState = || ScaleState::from_exponent(0);

/// [`Subject::sparse`], with `fault`.
pub(crate) fn sparse(
    fault: Option<Misled>,
    grads: Vec<Named<Coordinates>>,
    scale: ScaleState,
) -> Result<Unscaled<Plain>, Refusal> {
    let rows = grads.iter().map(|grad| {
        let Coordinates { values, .. } = &grad.value;
        let rows =
            Plain { dtype: values.dtype, shape: values.shape.clone(), bytes: values.bytes.clone() };
        Named { name: grad.name.clone(), value: Some(rows) }
    });
    let before = Toy.unscale(rows.collect(), scale)?.found;
    let whole = grads.into_iter().map(|Named { name, value }| {
        let value = Some(whole(fault, &value)?);
        Ok(Named { name, value })
    });
    let mut unscaled = Toy.unscale(whole.collect::<Result<_, Refusal>>()?, scale)?;
    if fault == Some(ChecksBeforeDuplicatesAreAdded) {
        unscaled.found = before;
    }
    Ok(unscaled)
}

fn whole(fault: Option<Misled>, grad: &Coordinates) -> Result<Plain, Refusal> {
    let Coordinates { shape, width, indices, values, coalesce } = grad;
    let dtype = values.dtype;
    let rows = Plain { dtype, shape: vec![], bytes: values.bytes.clone() }.read();
    let entries = indices.first().map_or(0, Vec::len);
    if shape.len() != indices.len() || rows.len() != entries * width {
        return Err(Refusal::Rejected(ErrorKind::Mismatch, "lists differ".to_owned()));
    }
    let mut sums = vec![0.0_f32; shape.iter().product::<usize>() * width];
    for (entry, row) in rows.chunks(*width).enumerate() {
        let at = row_of(fault, shape, indices, entry)?;
        for (sum, x) in sums[at * width..].iter_mut().zip(row) {
            *sum += x;
            if fault == Some(AddsDuplicatesInTheirOwnType) {
                *sum = Plain::write(&[*sum], dtype, &[]).read()[0];
            }
        }
    }
    if *coalesce == Coalesce::InOwnType {
        sums = Plain::write(&sums, dtype, &[]).read();
    }
    let shape: Vec<usize> = shape.iter().copied().chain([*width]).collect();
    Ok(Plain::write(&sums, DType::F32, &shape))
}

fn row_of(
    fault: Option<Misled>,
    shape: &[usize],
    indices: &[Vec<usize>],
    entry: usize,
) -> Result<usize, Refusal> {
    let mut dimensions: Vec<_> = shape.iter().zip(indices).collect();
    if fault == Some(RunsTheFirstDimensionFastest) {
        dimensions.reverse();
    }
    let mut row = 0;
    for (size, indices) in dimensions {
        let index = indices[entry];
        if index >= *size && fault != Some(TakesAnyIndex) {
            return Err(Refusal::Rejected(ErrorKind::InvalidArgument, format!("index {index}")));
        }
        row = row * size + index % size;
    }
    Ok(row)
}

/// [`Subject::delayed`], with `fault`.
pub(crate) fn delayed(
    fault: Option<Misled>,
    window: Delayed<Plain>,
) -> Result<Collected<Plain>, Refusal> {
    let Delayed { start, passes, buffers } = window;
    let mut now = start;
    let (mut losses, mut parts, mut micros) = (Vec::new(), Vec::new(), Vec::new());
    for (number, pass) in passes.into_iter().enumerate() {
        let scale = if fault == Some(ScalesByTheNewScale) { now } else { start };
        losses.push(times(&pass.loss, scale.factor()).bytes);
        let finding = Toy.unscale(pass.grads.clone(), ONE())?.found;
        parts.push(PartReport { name: format!("pass {number}"), finding });
        micros.push(MicroBatch { grads: pass.grads, scale: ONE() });
        now = pass.moved;
    }
    let scale = if fault == Some(UnscalesTheSumByTheNewScale) { now } else { start };
    let scale = ScaleState { diverged: false, ..scale };
    if let Some(buffers) = buffers {
        let Unscaled { grads, found } = Toy.unscale(buffers, scale)?;
        return Ok(Collected { losses, grads, summary: summary(found, Vec::new()) });
    }
    if fault == Some(AddsBadPasses) {
        micros.iter_mut().for_each(tame);
    }
    let sum = match fault {
        Some(SumsPassesInF16) => in_f16(micros)?,
        _ => toy_sets::accumulate(micros)?,
    };
    let Unscaled { grads, mut found } = Toy.unscale(sum, scale)?;
    if fault == Some(LooksAtNoSum) {
        found = Finding { overflow: None, ..found };
    }
    let mut verdict = found.clone();
    for part in parts.iter().filter(|_| fault != Some(LooksAtTheSumAlone)) {
        join_findings(&mut verdict, &part.finding, Join::Any);
    }
    parts.push(PartReport { name: "sum".to_owned(), finding: found });
    Ok(Collected { losses, grads, summary: summary(verdict, parts) })
}

fn summary(verdict: Finding, parts: Vec<PartReport>) -> StepSummary {
    StepSummary { name: String::new(), skipped: verdict.is_raised(), norm: None, verdict, parts }
}

fn judged(steps: Vec<StepSummary>, scale: ScaleState) -> Step {
    let skipped = steps.iter().any(|step| step.skipped);
    let report = StepReport { steps, scale, notice: None };
    match skipped {
        _ if scale.diverged => Step::Diverged(report),
        true => Step::Skipped(report),
        false => Step::Applied(report),
    }
}

/// [`Subject::follow`], with `fault`.
pub(crate) fn follow(fault: Option<Misled>, run: Led<Plain>) -> Result<Walked<Plain>, Refusal> {
    let Led { rule, start, recording, update, mut params, iterations, .. } = run;
    let mut slots: Vec<Slot> = params.iter().map(|param| Slot::new(&param.value)).collect();
    let (mut scale, mut own, mut steps) = (start, Trajectory::new(start), Vec::new());
    let updates = recording.as_ref().map_or(&[][..], |r| &r.updates[..]);
    for (index, grads) in iterations.into_iter().enumerate() {
        let there = updates.get(index);
        let recorded = there.is_some_and(|update| update.steps[0].skipped);
        let Unscaled { grads, mut found } = Toy.unscale(grads, scale)?;
        let overflow = found.is_raised();
        let skipped = match fault {
            Some(AppliesRecordedSkips) => overflow,
            Some(StepsOnOverflowsOfItsOwn) if there.is_some() => recorded,
            _ => overflow || recorded,
        };
        for (slot, grad) in slots.iter_mut().zip(&grads).filter(|_| !skipped) {
            let grad = grad.value.as_ref().map(Plain::read);
            grad.map_or(Ok(()), |grad| slot.step(&update, &grad))?;
        }
        found.halted |= recorded;
        let seen = Seen { overflow: skipped, skipped, magnitude: found.magnitude };
        let mut after = there.map_or_else(|| rule.next(scale, seen), |update| update.after);
        if fault == Some(KeepsItsOwnScale) {
            after = rule.next(scale, seen);
        }
        let parting = there.is_some() && skipped && !recorded && fault != Some(TellsOfNoParting);
        let step = judged(vec![StepSummary { skipped, ..summary(found, Vec::new()) }], after);
        if recording.is_none() {
            own.record(&step)?;
        }
        steps.push((step, parting.then_some(DivergenceKind::Skipped)));
        scale = after;
        if index + 1 == updates.len() {
            match fault {
                Some(StaysHaltedAfterTheEnd) => scale.diverged |= recorded,
                Some(StartsAnewAfterTheEnd) => scale = start,
                _ => {}
            }
        }
    }
    for (param, slot) in params.iter_mut().zip(&slots) {
        param.value = Plain::write(&slot.master, param.value.dtype, &param.value.shape);
    }
    Ok(Walked { params, steps, recording: recording.unwrap_or(own) })
}

/// [`Subject::update_each`], with `fault`.
pub(crate) fn update_each(
    fault: Option<Misled>,
    losses: Losses<Plain>,
) -> Result<[Step; 2], Refusal> {
    let Losses { rule, scales, grads, meet, .. } = losses;
    let [a, b] = grads;
    let parts =
        [Toy.unscale(a.clone(), scales[0])?.found, Toy.unscale(b.clone(), scales[1])?.found];
    let raised = parts.each_ref().map(Finding::is_raised);
    let (mut sum, mut norm_is_bad, mut drops) = (false, false, false);
    let steps = match meet {
        Meet::Apart => parts.iter().map(|part| summary(part.clone(), Vec::new())).collect(),
        Meet::Window { bad, max_norm } => {
            let micros = [(a, scales[0]), (b, scales[1])];
            let micros = micros.map(|(grads, scale)| MicroBatch { grads, scale }).to_vec();
            let Unscaled { grads, found } = Toy.unscale(toy_sets::accumulate(micros)?, ONE())?;
            drops = bad == BadMicroBatch::Drop;
            sum = found.is_raised();
            norm_is_bad = max_norm.is_some() && is_beyond(&grads);
            let left = if drops { raised == [true; 2] } else { raised != [false; 2] };
            let skipped = left || sum || norm_is_bad;
            vec![StepSummary { skipped, ..summary(found, Vec::new()) }]
        }
    };
    Ok([0, 1].map(|loss| {
        let mut own = raised[loss];
        let mut everyones = sum;
        match fault {
            Some(MovesEveryScale) => own = raised != [false; 2],
            Some(GivesTheSumToTheFirst) => everyones &= loss == 0,
            Some(TakesTheNormForAnOverflow) => everyones |= norm_is_bad,
            _ => {}
        }
        let left_out = drops && fault != Some(CountsWhatIsLeftOutAsASkip);
        let skipped = own && !left_out || everyones;
        let seen = Seen { overflow: own || everyones, skipped, magnitude: 1.0 };
        judged(steps.clone(), rule.next(scales[loss], seen))
    }))
}

fn is_beyond(grads: &NamedGrads<Plain>) -> bool {
    let mut found = Finding::default();
    record_norm(&mut found, norm(grads, Norm::L2));
    found.is_raised()
}
