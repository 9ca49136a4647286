//! Optimizer steps whose scale update is due, and the iterations that they are of.

use crate::ScaleStore;
use binade_core::OrderError;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// The part that is a window's sum.
pub(crate) const SUM: &str = "sum";

/// Finding of one pass over gradients: a whole batch, or one micro-batch of a window.
#[derive(Clone)]
pub(crate) struct Part<D: ScaleStore> {
    pub(crate) name: String,
    pub(crate) found: D::Found,
    /// The scale that the gradients were made with; `None` for a sum, which belongs to every scaler.
    pub(crate) of: Option<Origin>,
    /// True if its overflow skips the step, rather than leaving itself out.
    pub(crate) skips: bool,
}

/// Record of one optimizer step: its gradients' found-inf results, and its verdict.
#[derive(Clone)]
pub(crate) struct StepRecord<D: ScaleStore> {
    pub(crate) name: String,
    /// The scale that the gradients, or the last of them, were made with.
    pub(crate) of: Origin,
    /// Empty if the verdict is the result of a single pass.
    pub(crate) parts: Vec<Part<D>>,
    pub(crate) verdict: D::Found,
    /// Parameters of the optimizer without an entry in the set.
    pub(crate) unlisted: Vec<Arc<str>>,
    /// True if the norm in the verdict is this step's.
    pub(crate) measured: bool,
    /// True once an update has taken the step: dropping it is then correct.
    pub(crate) settled: bool,
    /// The scaler's. A held reference counts as in flight.
    pub(crate) iterations: Arc<Iterations>,
}

impl<D: ScaleStore> Drop for StepRecord<D> {
    fn drop(&mut self) {
        if !self.settled {
            self.iterations.note_dropped(&self.name, self.of.iteration);
        }
    }
}

impl<D: ScaleStore> StepRecord<D> {
    /// Returns the origin of each part, or of the step's only batch.
    fn origins(&self) -> impl Iterator<Item = Origin> + '_ {
        let whole = Some(self.of).filter(|_| self.parts.is_empty());
        self.parts.iter().filter_map(|part| part.of).chain(whole)
    }
}

/// Optimizer steps, one or more, that wait for the scale update.
#[must_use = "the scale does not move until this reaches `Scaler::update`"]
pub struct PendingStep<D: ScaleStore> {
    pub(crate) steps: Vec<StepRecord<D>>,
}

impl<D: ScaleStore> PendingStep<D> {
    pub(crate) fn new(step: StepRecord<D>) -> Self {
        Self { steps: vec![step] }
    }

    /// Both steps as one iteration, for one update.
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }

    /// Drops the step on purpose, where an iteration is given up: its findings move no scale and are not reported.
    pub fn abandon(mut self) {
        self.settle();
    }

    /// Marks the step as taken by an update.
    pub(crate) fn settle(&mut self) {
        self.steps.iter_mut().for_each(|step| step.settled = true);
    }

    /// Returns a copy that does not count as under way.
    pub(crate) fn uncounted(&self) -> Self
    where
        D: Clone,
    {
        let mut steps = self.steps.clone();
        for step in &mut steps {
            (step.settled, step.iterations) = (true, Arc::new(Iterations::new()));
        }
        Self { steps }
    }

    pub(crate) fn parts(&self) -> Vec<&D::Found> {
        self.steps.iter().flat_map(|step| &step.parts).map(|part| &part.found).collect()
    }

    pub(crate) fn verdicts(&self) -> Vec<&D::Found> {
        self.steps.iter().map(|step| &step.verdict).collect()
    }

    /// Returns each step's parts, and its verdict after them.
    pub(crate) fn findings(&self) -> Vec<&D::Found> {
        let steps = self.steps.iter();
        steps.flat_map(|s| s.parts.iter().map(|part| &part.found).chain([&s.verdict])).collect()
    }

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

    /// Returns the origin of losses scaled now.
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

    /// Returns the first step that was dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Option<OrderError> {
        self.dropped().take()
    }

    /// A panic cannot leave the value half changed.
    fn dropped(&self) -> MutexGuard<'_, Option<OrderError>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
