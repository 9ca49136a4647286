//! Restoring a run to a checkpoint, completely or not at all.

use crate::{Checkpoint, Mismatch, RestoreError, config};
use binade_grad_scaler::{Accumulation, GradOps, GradScaler, ScaleState, Scaler};
use binade_master_weights::{MasterOptimizer, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

type Change<'r, E> = Box<dyn FnOnce() -> Result<(), RestoreError<E>> + 'r>;

/// Restores a run to a checkpoint.
///
/// Each call compares saved state with an object of the run. [`finish`](Self::finish) then restores all objects at once. Until then, and after an
/// error, nothing has changed.
///
/// `finish` refuses contents that the run did not ask for, since a run that continues without them differs from the saved one.
#[must_use = "nothing is restored before `finish`"]
pub struct Restore<'r, E> {
    checkpoint: &'r Checkpoint,
    asked: BTreeSet<(&'static str, String)>,
    changes: Vec<Change<'r, E>>,
}

const SCALER: &str = "scaler";
const OPTIMIZER: &str = "optimizer";
const WINDOW: &str = "window";

impl<'r, E: 'r> Restore<'r, E> {
    pub(crate) fn new(checkpoint: &'r Checkpoint) -> Self {
        Self { checkpoint, asked: BTreeSet::new(), changes: Vec::new() }
    }

    /// Reopens a saved window over gradients of `params`. Call it before [`scaler`](Self::scaler), which borrows the scaler.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint has no such window, if the window has other parameters, or if the device fails.
    pub fn window<D: GradOps<Error = E>>(
        &mut self,
        name: &str,
        scaler: &Scaler<D>,
        params: &D::Params,
    ) -> Result<Accumulation<D>, RestoreError<E>> {
        let saved = self.ask(WINDOW, name, &self.checkpoint.windows)?;
        let window = scaler.reopen(params, saved);
        window.map_err(|error| RestoreError::load(format!("window `{name}`"), error))
    }

    /// Restores a scaler with the same rule.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint has no such scaler, or if its rule differs.
    pub fn scaler<D: GradScaler<Error = E>>(
        &mut self,
        name: &str,
        scaler: &'r mut Scaler<D>,
    ) -> Result<(), RestoreError<E>> {
        let saved = self.ask(SCALER, name, &self.checkpoint.scalers)?;
        if saved.rule != *scaler.rule() {
            Err(Mismatch::Differs {
                what: format!("the rule of scaler `{name}`"),
                found: format!("{:?}", saved.rule),
                expected: format!("{:?}", scaler.rule()),
            })?;
        }
        is_scale(name, &saved.state)?;
        let state = saved.state;
        self.changes.push(Box::new(move || scaler.set_state(state).map_err(RestoreError::Device)));
        Ok(())
    }

    /// Restores an optimizer with the same parameters and the same configuration. Learning rates may differ; they become the saved ones.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint has no such optimizer, if its parameters or configuration differ, or if the device fails.
    pub fn optimizer<D: Snapshot<Error = E>>(
        &mut self,
        name: &str,
        optimizer: &'r mut MasterOptimizer<D>,
    ) -> Result<(), RestoreError<E>> {
        let saved = self.ask(OPTIMIZER, name, &self.checkpoint.optimizers)?;
        let what = format!("optimizer `{name}`");
        // Another kind of rule has other tensors, so the rule's error comes before theirs.
        config::same_kind(name, &saved.config, optimizer.config())?;
        // Tensors come next: a model with other shapes is a likelier mistake than another hyper-parameter, and its first tensor shows it.
        let fit = optimizer.check_load(&saved.parameters);
        fit.map_err(|error| RestoreError::load(what.clone(), error))?;
        config::agrees(name, &saved.config, optimizer.config())?;
        self.changes.push(Box::new(move || {
            let loaded = optimizer.load(&saved.parameters);
            loaded.map_err(|error| RestoreError::load(what, error))?;
            optimizer.set_config(saved.config.clone()).map_err(RestoreError::Device)
        }));
        Ok(())
    }

    /// Restores everything that was asked for.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint has more than was asked for; nothing has changed then. Also returns an error if the device fails.
    pub fn finish(self) -> Result<(), RestoreError<E>> {
        let Self { checkpoint, asked, changes } = self;
        let Checkpoint { scalers, optimizers, windows, .. } = checkpoint;
        let all = scalers.keys().map(|name| (SCALER, name));
        let all = all.chain(optimizers.keys().map(|name| (OPTIMIZER, name)));
        for (kind, name) in all.chain(windows.keys().map(|name| (WINDOW, name))) {
            if !asked.contains(&(kind, name.clone())) {
                Err(Mismatch::Unasked { kind, name: name.clone() })?;
            }
        }
        changes.into_iter().try_for_each(|change| change())
    }

    fn ask<T>(
        &mut self,
        kind: &'static str,
        name: &str,
        all: &'r BTreeMap<String, T>,
    ) -> Result<&'r T, Mismatch> {
        let has = || all.keys().cloned().collect();
        let saved = all.get(name).ok_or_else(|| Mismatch::Missing {
            kind,
            name: name.to_owned(),
            has: has(),
        })?;
        self.asked.insert((kind, name.to_owned()));
        Ok(saved)
    }
}

/// Checks a scale from a file: a scale of 0, infinity or NaN would otherwise be accepted.
fn is_scale(name: &str, state: &ScaleState) -> Result<(), Mismatch> {
    let (factor, inverse) = (state.factor(), state.inverse());
    if factor > 0.0 && factor.is_normal() && inverse.is_normal() {
        return Ok(());
    }
    let (what, why) = (format!("the state of scaler `{name}`"), format!("a scale of {factor}"));
    Err(Mismatch::Invalid { what, why })
}

impl<E> fmt::Debug for Restore<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore").field("asked", &self.asked).finish_non_exhaustive()
    }
}
