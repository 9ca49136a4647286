//! Which iteration a scaler is in, and which step never reached its update.

use super::pending::StepRecord;
use crate::{PendingStep, ScaleStore};
use binade_core::OrderError;
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// The scaler whose scale a loss was multiplied by, and how many updates it had had by then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Origin {
    pub(crate) scaler: u64,
    pub(crate) iteration: u64,
}

/// State shared by a scaler and its pending steps.
pub(crate) struct Iterations {
    scaler: u64,
    updates: AtomicU64,
    dropped: Mutex<Option<OrderError>>,
}

impl Iterations {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let scaler = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { scaler, updates: AtomicU64::new(0), dropped: Mutex::default() }
    }

    /// The origin of what is scaled now.
    pub(crate) fn now(&self) -> Origin {
        Origin { scaler: self.scaler, iteration: self.updates.load(Ordering::Relaxed) }
    }

    /// Counts an update of the scaler.
    pub(crate) fn advance(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// Remembers the first step that was dropped.
    pub(crate) fn note_dropped(&self, name: &str, iteration: u64) {
        let update = iteration + 1;
        self.dropped()
            .get_or_insert_with(|| OrderError::NeverUpdated { step: name.into(), update });
    }

    /// The first step that was dropped since this was last asked.
    pub(crate) fn take_dropped(&self) -> Option<OrderError> {
        self.dropped().take()
    }

    /// Nothing is half done where a thread could panic.
    fn dropped(&self) -> MutexGuard<'_, Option<OrderError>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: ScaleStore> PendingStep<D> {
    /// Refuses gradients that none of `scalers` has scaled, and an update of a scaler whose own gradients are all of earlier
    /// iterations than its last.
    pub(crate) fn check(&self, scalers: &[Origin]) -> Result<(), OrderError> {
        let origins =
            || self.steps.iter().flat_map(|step| step.origins().map(move |of| (step, of)));
        let is_known = |of: Origin| scalers.iter().any(|scaler| scaler.scaler == of.scaler);
        if let Some((step, _)) = origins().find(|(_, of)| !is_known(*of)) {
            return Err(OrderError::OtherScaler { step: step.name.clone() });
        }
        for now in scalers {
            let own = origins().filter(|(_, of)| of.scaler == now.scaler);
            match own.max_by_key(|(_, of)| of.iteration) {
                Some((step, of)) if of.iteration < now.iteration => {
                    return Err(OrderError::SecondUpdate { step: step.name.clone() });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl<D: ScaleStore> StepRecord<D> {
    /// Of each part, or of the one batch that the step is.
    fn origins(&self) -> impl Iterator<Item = Origin> + '_ {
        let whole = Some(self.of).filter(|_| self.parts.is_empty());
        self.parts.iter().filter_map(|part| part.of).chain(whole)
    }
}
