//! Draft of a checkpoint.

use crate::{Checkpoint, DraftError, SaveError, SavedOptimizer, SavedScaler};
use binade_core::RawTensor;
use binade_grad_scaler::{Accumulation, GradOps, GradScaler, Scaler, Step};
use binade_master_weights::{MasterOptimizer, Snapshot};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Draft of a checkpoint. It begins at a point where a run can be resumed: after the outcome of a step, within an open window, after an earlier
/// checkpoint, or before the first step.
///
/// # Contract
///
/// * A [`ScaledLoss`](binade_grad_scaler::ScaledLoss), [`ScaledGrads`](binade_grad_scaler::ScaledGrads),
///   [`UnscaledGrads`](binade_grad_scaler::UnscaledGrads) or [`PendingStep`](binade_grad_scaler::PendingStep) begins none: it
///   does not compile, as [`order`](crate::order) shows.
/// * [`finish`](Self::finish) refuses at run time what types cannot: a draft that was begun with an earlier outcome while one
///   of these is in flight.
/// * Saving reads the devices, and changes nothing.
#[derive(Debug)]
#[must_use = "a checkpoint is made by `finish`"]
pub struct Draft {
    checkpoint: Checkpoint,
    boundary: Boundary,
    /// Number of values in flight, as the scalers count them.
    in_flight: usize,
    /// Number of values in flight that are windows of this checkpoint.
    held: usize,
}

impl Draft {
    /// Begins a draft before the first step.
    pub fn fresh() -> Self {
        Self::at(Boundary::Fresh)
    }

    /// Begins a draft after a step, applied or skipped.
    pub fn after(step: &Step) -> Self {
        Self::at(Boundary::After(step.report().scale.updates))
    }

    /// Begins a draft at the same point as `earlier`, after a restore and before the next step.
    pub fn again(earlier: &Checkpoint) -> Self {
        let updates = earlier.scalers.values().map(|scaler| scaler.state.updates);
        Self::at(Boundary::After(updates.max().unwrap_or(0)))
    }

    /// Begins a draft between two micro-batches of `window`, which is saved under `name`.
    ///
    /// # Errors
    ///
    /// The errors of [`window`](Self::window).
    pub fn within<D: GradOps>(
        name: &str,
        window: &Accumulation<D>,
    ) -> Result<Self, SaveError<D::Error>> {
        Self::at(Boundary::Within).window(name, window)
    }

    fn at(boundary: Boundary) -> Self {
        Self { checkpoint: Checkpoint::default(), boundary, in_flight: 0, held: 0 }
    }

    /// Adds one more open window.
    ///
    /// # Errors
    ///
    /// If the name is taken or has a `/`, or the device fails.
    pub fn window<D: GradOps>(
        mut self,
        name: &str,
        window: &Accumulation<D>,
    ) -> Result<Self, SaveError<D::Error>> {
        let saved = window.save().map_err(SaveError::Device)?;
        self.held += usize::from(saved.grads.is_some());
        add(&mut self.checkpoint.windows, "window", name, saved)?;
        Ok(self)
    }

    /// Adds a scaler's rule and state.
    ///
    /// # Errors
    ///
    /// If the name is taken or has a `/`, or the device fails.
    pub fn scaler<D: GradScaler>(
        mut self,
        name: &str,
        scaler: &Scaler<D>,
    ) -> Result<Self, SaveError<D::Error>> {
        let state = scaler.state().map_err(SaveError::Device)?;
        self.in_flight += scaler.in_flight();
        let saved = SavedScaler { rule: *scaler.rule(), state };
        add(&mut self.checkpoint.scalers, "scaler", name, saved)?;
        Ok(self)
    }

    /// Adds an optimizer: its configuration, parameters, masters, moments and counts of applied steps.
    ///
    /// # Errors
    ///
    /// If the name is taken or has a `/`, or the device fails.
    pub fn optimizer<D: Snapshot>(
        mut self,
        name: &str,
        optimizer: &MasterOptimizer<D>,
    ) -> Result<Self, SaveError<D::Error>> {
        let parameters = optimizer.save().map_err(SaveError::Device)?;
        let saved = SavedOptimizer { config: optimizer.config().clone(), parameters };
        add(&mut self.checkpoint.optimizers, "optimizer", name, saved)?;
        Ok(self)
    }

    /// Adds a custom metadata string, such as the epoch.
    pub fn word(mut self, name: &str, word: impl Display) -> Self {
        self.checkpoint.words.insert(name.to_owned(), word.to_string());
        self
    }

    /// Adds custom bytes, such as a generator's state.
    pub fn blob(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.checkpoint.blobs.insert(name.to_owned(), bytes.into());
        self
    }

    /// Adds a custom tensor, such as running statistics.
    pub fn tensor(mut self, name: &str, tensor: RawTensor) -> Self {
        self.checkpoint.tensors.insert(name.to_owned(), tensor);
        self
    }

    /// Returns the checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if a value of one of the scalers is in flight, or if steps were taken since the draft was begun.
    pub fn finish(self) -> Result<Checkpoint, DraftError> {
        let Self { checkpoint, boundary, in_flight, held: windows } = self;
        if in_flight != windows && !checkpoint.scalers.is_empty() {
            return Err(DraftError::InFlight { in_flight, windows });
        }
        let updates: Vec<_> =
            checkpoint.scalers.values().map(|scaler| scaler.state.updates).collect();
        if boundary.admits(&updates) { Ok(checkpoint) } else { Err(DraftError::Stale) }
    }
}

/// Point at which a checkpoint was begun.
#[derive(Clone, Copy, Debug)]
enum Boundary {
    /// Before the first step.
    Fresh,
    /// After the step that ended with this many updates, or after a checkpoint made at that point.
    After(u64),
    /// Inside an open window.
    Within,
}

impl Boundary {
    /// Returns true if scalers with these counts of updates can be at this point.
    fn admits(self, updates: &[u64]) -> bool {
        match self {
            Self::Fresh => updates.iter().all(|&count| count == 0),
            // Each loss may have its own scaler; the step belongs to one of them.
            Self::After(then) => updates.is_empty() || updates.iter().any(|&count| count <= then),
            Self::Within => true,
        }
    }
}

fn add<T>(
    to: &mut BTreeMap<String, T>,
    kind: &'static str,
    name: &str,
    value: T,
) -> Result<(), DraftError> {
    if name.contains('/') {
        return Err(DraftError::Name(name.to_owned()));
    }
    match to.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(DraftError::Duplicate { kind, name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::Boundary;

    #[test]
    fn a_boundary_that_the_run_has_left_is_not_admitted() {
        for (boundary, updates, admitted) in [
            (Boundary::Fresh, &[0, 0][..], true),
            (Boundary::Fresh, &[0, 1], false),
            (Boundary::After(3), &[9, 3], true),
            (Boundary::After(3), &[4], false),
            // The scaler's state was replaced since.
            (Boundary::After(3), &[0], true),
            (Boundary::After(3), &[], true),
            (Boundary::Within, &[7], true),
        ] {
            assert_eq!(boundary.admits(updates), admitted, "{boundary:?} {updates:?}");
        }
    }
}
