//! Opened library and its plans.

use crate::{Cuda, Error};
use binade_gpu::lock;
use cudarc::driver::CudaContext;
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard},
};

/// Opened library: its handle, and a plan for each problem.
pub(super) struct Opened<Handle, Problem, Plan> {
    pub(super) version: usize,
    context: Arc<CudaContext>,
    state: Mutex<State<Handle, Problem, Plan>>,
}

/// State that one thread uses at a time.
pub(super) struct State<Handle, Problem, Plan> {
    /// Plans by problem; `None` for a problem that the library does not compute. They stand before the handle, so that they are
    /// dropped first.
    plans: HashMap<Problem, Option<Plan>>,
    handle: Handle,
}

impl<Handle, Problem, Plan> Opened<Handle, Problem, Plan> {
    pub(super) fn new(cuda: &Cuda, version: usize, handle: Handle) -> Self {
        let state = Mutex::new(State { handle, plans: HashMap::new() });
        Self { version, context: cuda.stream().context().clone(), state }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<Handle, Problem, Plan>> {
        lock(&self.state)
    }
}

impl<Handle, Problem: Copy + Eq + Hash, Plan> State<Handle, Problem, Plan> {
    /// Returns the handle and a problem's plan, which `ask` requests from the library once. Kernels compute a problem that it has none for. The call
    /// is recorded by its `name` and `words`.
    pub(super) fn find(
        &mut self,
        cuda: &Cuda,
        problem: &Problem,
        (name, words): (&'static str, impl FnOnce(&Handle) -> Vec<u64>),
        ask: impl FnOnce(&Handle) -> Result<Option<Plan>, Error>,
    ) -> Result<Option<(&Handle, &Plan)>, Error> {
        let plan = match self.plans.entry(*problem) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                if cuda.is_captured() {
                    // No warm-up did this: the recorder says so.
                    cuda.inner.pool.state.note(name, || words(&self.handle))?;
                }
                cuda.bind()?;
                cuda.inner.counters.searches.add(1);
                place.insert(ask(&self.handle)?)
            }
        };
        Ok(plan.as_ref().map(|plan| (&self.handle, plan)))
    }

    /// Leaves a problem to the kernels from now on.
    pub(super) fn refuse(&mut self, problem: Problem) {
        self.plans.insert(problem, None);
    }
}

impl<Handle, Problem, Plan> Drop for Opened<Handle, Problem, Plan> {
    /// Binds the context in which the handle is destroyed. A lost device is reported by the next call that returns an error.
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
    }
}

impl<Handle, Problem, Plan> fmt::Debug for Opened<Handle, Problem, Plan> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("version", &self.version).finish_non_exhaustive()
    }
}
