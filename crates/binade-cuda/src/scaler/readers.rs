//! The readers of a scale that captured steps move.

use crate::capture::Recorder;
use std::sync::Arc;

/// Readers of a scale: a change is made in place unless one is alive.
#[derive(Debug)]
pub struct Readers {
    /// Shared with clones that keep what they read.
    pub(super) shared: Arc<()>,
    /// True of a clone of a captured run's scale.
    is_replayed: bool,
    /// Not of clones: a captured step asks whether the scale that it moves is still anybody's.
    pub(super) original: Option<Arc<()>>,
}

impl Default for Readers {
    fn default() -> Self {
        Self { shared: Arc::default(), is_replayed: false, original: Some(Arc::default()) }
    }
}

impl binade_gpu::Readers<Recorder> for Readers {
    /// A clone that is made within a captured run, or of such a one, is moved with each replay, and hinders nobody else from moving
    /// it.
    fn of_clone(&self, recorder: &Recorder) -> Self {
        let is_replayed = recorder.running() == Some(true) || self.is_replayed;
        let shared = if is_replayed { Arc::default() } else { self.shared.clone() };
        Self { shared, is_replayed, original: None }
    }
}
