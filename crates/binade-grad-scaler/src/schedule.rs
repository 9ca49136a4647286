//! Learning-rate schedules that know whether a step was applied.

use crate::Step;
use std::fmt;

/// What moves a schedule on.
///
/// | | `OnApplied` | `OnAttempted` |
/// |---|---|---|
/// | a skipped step | does not count: as many steps at each rate as were planned | counts: the rate falls though nothing was learnt |
/// | the run's length | planned steps and as many more as were skipped | as planned |
/// | needs the outcome | yes, and is late by as much as outcomes are | no: the loop's counter alone |
/// | two runs that skip differently | are at different rates at the same iteration | are at the same rate |
///
/// Short warm-ups are where it matters: a first scale that is too high skips the first steps, and a warm-up that counts
/// them has risen by the time that training begins. torch's schedulers count as their loop calls them and are not told of
/// skips.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Advance {
    /// A step that was applied.
    OnApplied,
    /// A step that was tried, applied or skipped.
    OnAttempted,
}

/// Where a schedule is: what a checkpoint holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScheduleState {
    /// Steps begun.
    pub begun: u64,
    /// Those of them that are known to have been skipped.
    pub skipped: u64,
}

/// A learning rate for each step, by a function of the step's number.
///
/// # Contract
///
/// * [`begin`](Self::begin) gives the rate of the step about to be taken, and counts it; [`record`](Self::record) tells what
///   became of it. Numbers start at 0.
/// * With [`Advance::OnApplied`] the number is that of the steps begun before, less those known to have been skipped. Where
///   each outcome is recorded before the next step begins, that is the number of steps applied.
/// * An outcome that is not known yet is taken for applied, since nearly all are. Where outcomes come one step late, the one
///   step after a skip is at the rate of the number after its own, and from the next one on the number is right again. No
///   rate is left out: the number goes back by one.
/// * With [`Advance::OnAttempted`] nothing has to be recorded, and what is changes nothing.
///
/// The rate goes to the optimizer by the user's hand: `optimizer.set_plan(plan.with_lr(schedule.begin())?)?` where
/// `binade-master-weights` is used. What an optimizer counts for its bias corrections is its own, on the device, and needs
/// no outcome.
///
/// ```
/// use binade_grad_scaler::{Advance, Schedule};
///
/// // Up in eight steps, and then as the root of the step falls.
/// let rate = |step: u64| {
///     let step = (step + 1) as f64;
///     0.5 * (step / 8.0).min((8.0 / step).sqrt())
/// };
/// let mut schedule = Schedule::new(rate, Advance::OnApplied);
/// assert_eq!([schedule.begin(), schedule.begin()], [0.0625, 0.125]);
/// ```
#[derive(Clone)]
pub struct Schedule<F> {
    rate: F,
    advance: Advance,
    optimizer: Option<String>,
    state: ScheduleState,
}

impl<F: Fn(u64) -> f64> Schedule<F> {
    /// A schedule at its first step, whose rate is `rate(0)`.
    pub fn new(rate: F, advance: Advance) -> Self {
        Self { rate, advance, optimizer: None, state: ScheduleState::default() }
    }

    /// Follows the steps of this optimizer alone, as [`named`](crate::UnscaledGrads::named). Without it an iteration is
    /// applied if none of its steps was skipped.
    #[must_use]
    pub fn of(self, optimizer: impl Into<String>) -> Self {
        Self { optimizer: Some(optimizer.into()), ..self }
    }

    /// Goes on from where another was.
    #[must_use]
    pub fn at(self, state: ScheduleState) -> Self {
        Self { state, ..self }
    }

    /// Where it is. Steps whose outcome is not recorded by now count as applied when it goes on from here.
    pub fn state(&self) -> ScheduleState {
        self.state
    }

    /// The number of the next step, from 0.
    pub fn number(&self) -> u64 {
        let ScheduleState { begun, skipped } = self.state;
        match self.advance {
            Advance::OnApplied => begun.saturating_sub(skipped),
            Advance::OnAttempted => begun,
        }
    }

    /// The rate of the next step.
    pub fn rate(&self) -> f64 {
        (self.rate)(self.number())
    }

    /// The rate of the step that is now taken, which is counted.
    pub fn begin(&mut self) -> f64 {
        let rate = self.rate();
        self.state.begun += 1;
        rate
    }

    /// Takes in what became of a step that was begun: each once, as soon as it is known. An iteration in which the
    /// schedule's optimizer did not step says nothing.
    pub fn record(&mut self, step: &Step) {
        let own = |name: &str| self.optimizer.as_ref().is_none_or(|own| own == name);
        let skipped = step.report().steps.iter().any(|step| own(&step.name) && step.skipped);
        self.state.skipped += u64::from(skipped);
    }
}

impl<F> fmt::Debug for Schedule<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { advance, optimizer, state, .. } = self;
        let fields = (advance, optimizer, state);
        f.debug_tuple("Schedule").field(&fields).finish()
    }
}
