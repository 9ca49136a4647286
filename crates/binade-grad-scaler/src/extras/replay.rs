//! Replay of a recorded run: its scales, and its skips.

use crate::{GradScaler, RecordedStep, ScaleState, Scaler, Step, StepReport, Trajectory};
use binade_core::{Error, ErrorKind};

/// Leads a run along a [`Trajectory`]: the scale takes the recorded values, and exactly the recorded steps are skipped.
///
/// # Contract
///
/// * A step that was skipped in the recording is skipped, whether or not it overflows in this run. Nothing new is asked of
///   a device: the state uploaded for it has `diverged` set, and such a scale halts what it unscales.
/// * A step that overflows in this run and did not in the recording is skipped as well, since what is not finite never
///   enters weights, and [`check`](Self::check) says that the runs have parted.
/// * So two runs that follow one recording skip alike, or say where they did not.
/// * What a window left out is compared and not forced: a micro-batch that overflows in one run alone is a parting.
/// * After the last recorded update the run goes on by its own rule, from the state that the recording ends in.
///
/// It costs an upload of the state an iteration, and so a scale at a new address: follow outside captured graphs.
///
/// Gradients of [`check_unscaled`](Scaler::check_unscaled) know no scale that could halt them: scale such losses under
/// [`LossScale::none`](crate::LossScale::none) to have them led.
///
/// # A loop
///
/// ```text
/// let mut replay = ReplayScales::new(trajectory);
/// for batch in batches {
///     replay.begin_step(&mut scaler)?;                                  // before the iteration's losses are scaled
///     let step = …;                                               // scale, backward, unscale, step, as ever
///     let step = replay.check(scaler.update(step)?.resolve()?)?;  // may be called late, in order
/// }
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReplayScales {
    /// The recording.
    pub trajectory: Trajectory,
    /// Iterations begun; one more than there are updates once the run has been let go.
    begun: usize,
    checked: usize,
}

/// Difference between a step and its recording.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DivergenceKind {
    /// Skipped in this run and applied in the recording: it overflowed here alone.
    Skipped,
    /// Applied in this run and skipped in the recording: its loss was not scaled by the state that was led to.
    Applied,
    /// Its window left out other micro-batches than these, which the recording did.
    LeftOut(Vec<String>),
    /// Other optimizers stepped than these, which did in the recording, or in another order.
    Optimizers(Vec<String>),
}

/// Error of a run that is no longer the same as its recording.
///
/// The step is as it was taken, or skipped, and the scale as recorded: a loop that goes on has it in `step`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("parted from the recording: {}. This run: {}", self.words(), step.report())]
pub struct ReplayDivergence {
    /// The name of the optimizer whose step it was, the first if there are several; empty if nobody named it.
    pub optimizer: String,
    /// The difference.
    pub kind: DivergenceKind,
    /// Step as this run took it.
    pub step: Box<Step>,
}

impl ReplayDivergence {
    fn words(&self) -> String {
        let step = match self.optimizer.as_str() {
            "" => "the step".to_owned(),
            name => format!("the step of `{name}`"),
        };
        match &self.kind {
            DivergenceKind::Skipped => format!("{step} was applied there, and is skipped here"),
            DivergenceKind::Applied => format!(
                "{step} was skipped there, and is applied here: call `begin_step` before its loss is scaled"
            ),
            DivergenceKind::LeftOut(there) if there.is_empty() => {
                format!("{step} left out nothing there")
            }
            DivergenceKind::LeftOut(there) => format!("{step} left out {} there", there.join(", ")),
            DivergenceKind::Optimizers(there) => {
                format!("there the steps were {there:?}: join the same ones, in the same order")
            }
        }
    }
}

impl Error for ReplayDivergence {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

impl ReplayScales {
    /// From the recording's start.
    pub fn new(trajectory: Trajectory) -> Self {
        Self { trajectory, begun: 0, checked: 0 }
    }

    /// Begins an iteration: puts the recorded state in place of the scaler's, before any of its losses is scaled. Never
    /// waits for the device. `false` once the recording has come to its end.
    ///
    /// Where the recording skipped some of an iteration's optimizers and not others, all are halted, and
    /// [`check`](Self::check) says so.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn begin_step<D: GradScaler>(&mut self, scaler: &mut Scaler<D>) -> Result<bool, D::Error> {
        let ends = self.trajectory.updates.len();
        if self.begun <= ends {
            let state = self.trajectory.before(self.begun);
            let update = self.trajectory.updates.get(self.begun);
            let is_halted = update.map(|update| update.steps.iter().any(|step| step.skipped));
            let diverged = is_halted.unwrap_or(state.diverged);
            scaler.replace_state(ScaleState { diverged, ..state })?;
            self.begun += 1;
        }
        Ok(self.begun <= ends)
    }

    /// Compares what became of an iteration with the recording, and puts the recorded scale into its report. Each outcome
    /// once, in order, as late as one likes. After the recording's end it changes nothing.
    ///
    /// # Errors
    ///
    /// [`ReplayDivergence`], with the step in it.
    pub fn check(&mut self, step: Step) -> Result<Step, ReplayDivergence> {
        let Some(there) = self.trajectory.updates.get(self.checked) else { return Ok(step) };
        self.checked += 1;
        let report = StepReport { scale: there.after, ..step.report().clone() };
        let here: Vec<_> = report.steps.iter().map(RecordedStep::of).collect();
        let divergence = divergence(&here, &there.steps);
        let step = Step::judge(report);
        match divergence {
            None => Ok(step),
            Some((optimizer, kind)) => {
                Err(ReplayDivergence { optimizer, kind, step: Box::new(step) })
            }
        }
    }
}

fn divergence(here: &[RecordedStep], there: &[RecordedStep]) -> Option<(String, DivergenceKind)> {
    let names = |steps: &[RecordedStep]| steps.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    if names(here) != names(there) {
        let first = here.first().map(|step| step.name.clone()).unwrap_or_default();
        return Some((first, DivergenceKind::Optimizers(names(there))));
    }
    let differs = here.iter().zip(there).find(|(here, there)| here != there);
    differs.map(|(here, there)| {
        let kind = match (here.skipped, there.skipped) {
            (true, false) => DivergenceKind::Skipped,
            (false, true) => DivergenceKind::Applied,
            _ => DivergenceKind::LeftOut(there.left_out.clone()),
        };
        (here.name.clone(), kind)
    })
}
