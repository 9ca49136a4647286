//! A run that follows a recording: its scales, and its skips.

use crate::trajectory::RecordedStep;
use crate::{GradScaler, Scaler, Step, StepReport, Trajectory};
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
/// Gradients of [`never_scaled`](Scaler::never_scaled) know no scale that could halt them: scale such losses under
/// [`LossScale::none`](crate::LossScale::none) to have them led.
///
/// # A loop
///
/// ```text
/// let mut follow = Follow::new(trajectory);
/// for batch in batches {
///     follow.lead(&mut scaler)?;                                  // before the iteration's losses are scaled
///     let step = …;                                               // scale, backward, unscale, step, as ever
///     let step = follow.check(scaler.update(step)?.resolve()?)?;  // may be called late, in order
/// }
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Follow {
    trajectory: Trajectory,
    /// Iterations begun; one more than there are updates once the run has been let go.
    led: usize,
    checked: usize,
}

/// In what a step parted from its recording.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Parting {
    /// Skipped in this run and applied in the recording: it overflowed here alone.
    Skipped,
    /// Applied in this run and skipped in the recording: its loss was not scaled by the state that was led to.
    Applied,
    /// Its window left out other micro-batches than these, which the recording did.
    LeftOut(Vec<String>),
    /// Other optimizers stepped than these, which did in the recording, or in another order.
    Optimizers(Vec<String>),
}

/// This run and its recording are no longer the same.
///
/// The step is as it was taken, or skipped, and the scale as recorded: whoever takes note and goes on has it in `step`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("parted from the recording: {}. This run: {}", self.words(), step.report())]
pub struct Parted {
    /// The name of the optimizer whose step it was, the first if there are several; empty if nobody named it.
    pub optimizer: String,
    /// In what.
    pub how: Parting,
    /// What happened in this run.
    pub step: Box<Step>,
}

impl Parted {
    fn words(&self) -> String {
        let step = match self.optimizer.as_str() {
            "" => "the step".to_owned(),
            name => format!("the step of `{name}`"),
        };
        match &self.how {
            Parting::Skipped => format!("{step} was applied there, and is skipped here"),
            Parting::Applied => format!(
                "{step} was skipped there, and is applied here: call `lead` before its loss is scaled"
            ),
            Parting::LeftOut(there) if there.is_empty() => format!("{step} left out nothing there"),
            Parting::LeftOut(there) => format!("{step} left out {} there", there.join(", ")),
            Parting::Optimizers(there) => {
                format!("there the steps were {there:?}: join the same ones, in the same order")
            }
        }
    }
}

impl Error for Parted {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

impl Follow {
    /// From the recording's start.
    pub fn new(trajectory: Trajectory) -> Self {
        Self { trajectory, led: 0, checked: 0 }
    }

    /// Begins an iteration: puts the recorded state in place of the scaler's, before any of its losses is scaled. Never
    /// waits for the device. `false` once the recording has come to its end.
    ///
    /// Where the recording skipped some of an iteration's optimizers and not others, all are halted until
    /// [`lead_for`](Self::lead_for) tells them apart.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn lead<D: GradScaler>(&mut self, scaler: &mut Scaler<D>) -> Result<bool, D::Error> {
        let ends = self.trajectory.updates().len();
        if self.led <= ends {
            self.led += 1;
            let halt = |steps: &[RecordedStep]| steps.iter().any(|step| step.skipped);
            self.put(scaler, halt)?;
        }
        Ok(self.led <= ends)
    }

    /// Says that the next loss scaled is for this optimizer alone, as [`named`](crate::UnscaledGrads::named): for iterations
    /// with several optimizers that skip apart. After [`lead`](Self::lead), before the loss is scaled.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn lead_for<D: GradScaler>(
        &self,
        scaler: &mut Scaler<D>,
        optimizer: &str,
    ) -> Result<(), D::Error> {
        let own = |step: &&RecordedStep| step.name == optimizer;
        let halt = |steps: &[RecordedStep]| steps.iter().filter(own).any(|step| step.skipped);
        if self.led == 0 || self.led > self.trajectory.updates().len() {
            return Ok(());
        }
        self.put(scaler, halt)
    }

    fn put<D: GradScaler>(
        &self,
        scaler: &mut Scaler<D>,
        halt: impl Fn(&[RecordedStep]) -> bool,
    ) -> Result<(), D::Error> {
        let index = self.led.saturating_sub(1);
        let state = self.trajectory.before(index);
        let diverged = self.trajectory.updates().get(index).map(|update| halt(&update.steps));
        scaler.replace_state(crate::ScaleState {
            diverged: diverged.unwrap_or(state.diverged),
            ..state
        })
    }

    /// Compares what became of an iteration with the recording, and puts the recorded scale into its report. Each outcome
    /// once, in order, as late as one likes. After the recording's end it changes nothing.
    ///
    /// # Errors
    ///
    /// [`Parted`], with the step in it.
    pub fn check(&mut self, step: Step) -> Result<Step, Parted> {
        let Some(there) = self.trajectory.updates().get(self.checked) else { return Ok(step) };
        self.checked += 1;
        let report = StepReport { scale: there.after, ..step.report().clone() };
        let here: Vec<_> = report.steps.iter().map(RecordedStep::of).collect();
        let parting = parting(&here, &there.steps);
        let step = Step::judge(report);
        match parting {
            None => Ok(step),
            Some((optimizer, how)) => Err(Parted { optimizer, how, step: Box::new(step) }),
        }
    }

    /// The recording.
    pub fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }
}

fn parting(here: &[RecordedStep], there: &[RecordedStep]) -> Option<(String, Parting)> {
    let names = |steps: &[RecordedStep]| steps.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    if names(here) != names(there) {
        let first = here.first().map(|step| step.name.clone()).unwrap_or_default();
        return Some((first, Parting::Optimizers(names(there))));
    }
    let differs = here.iter().zip(there).find(|(here, there)| here != there);
    differs.map(|(here, there)| {
        let how = match (here.skipped, there.skipped) {
            (true, false) => Parting::Skipped,
            (false, true) => Parting::Applied,
            _ => Parting::LeftOut(there.left_out.clone()),
        };
        (here.name.clone(), how)
    })
}
