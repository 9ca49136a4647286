//! Dispatch of shaders and copies into a batch, and its submission.

mod batch;
mod bound;
mod pipeline;
pub(crate) mod structs;

pub(crate) use batch::{Batch, Copy, Ticket};
pub(crate) use bound::{Bound, MOST_ELEMENTS, parts};
pub(crate) use pipeline::Pipelines;

use crate::{Error, Wgpu, shaders::Shader};
use batch::Command;
use bytemuck::Pod;
use std::sync::{MutexGuard, PoisonError, atomic::Ordering};

/// Invocations of a group, as the shaders' `THREADS`.
pub(crate) const THREADS: usize = 256;

/// Elements that an invocation takes at a time, as the shaders' `GROUP`.
pub(crate) const GROUP: usize = 4;

/// Number of groups beyond which a grid strides. A GPU is full by then, and drivers on a CPU grow slow beyond it.
const MOST_GROUPS: usize = 1024;

/// Number of groups beyond which a grid strides on a driver for the CPU: few, so that a test of a few thousand elements sees it stride.
const MOST_GROUPS_ON_CPU: u32 = 4;

/// Returns the groups of a grid that strides over `pieces` of work, one for each invocation at a time.
pub(crate) fn groups(pieces: usize) -> u32 {
    groups_of(pieces.div_ceil(THREADS))
}

/// Returns the groups of a grid that strides over `pieces` of work, one for each group at a time.
pub(crate) fn groups_of(pieces: usize) -> u32 {
    u32::try_from(pieces.clamp(1, MOST_GROUPS)).unwrap_or(1)
}

impl Wgpu {
    /// Puts a shader in the batch. `bound` are the buffers that it reads and writes, in the order of its bindings.
    ///
    /// # Panics
    ///
    /// If there is no such shader, or parameters or bindings do not match its own: a bug of this crate.
    pub(crate) fn dispatch(
        &self,
        shader: impl Into<&'static Shader>,
        params: &impl Pod,
        bound: Vec<Bound>,
        groups: u32,
    ) -> Result<(), Error> {
        let (shader, params) = (shader.into(), bytemuck::bytes_of(params));
        assert_eq!(params.len(), shader.params, "{}: bytes of parameters", shader.name);
        assert_eq!(bound.len(), shader.bindings.len(), "{}: bindings", shader.name);
        self.inner.health.check()?;
        let pipeline = self.pipeline(shader)?;
        self.inner.counters.dispatches.add(1);
        let most = if self.inner.facts.is_software { MOST_GROUPS_ON_CPU } else { u32::MAX };
        let groups = groups.min(most);
        let mut batch = self.batch();
        let params = batch.add_params(params);
        batch.push(Command::Dispatch { pipeline, params, bound, groups });
        if batch.is_full() { self.send_off(&mut batch) } else { Ok(()) }
    }

    /// Puts a copy in the batch, and returns its ticket.
    pub(crate) fn put_copy(&self, copy: Copy) -> Result<Ticket, Error> {
        self.inner.health.check()?;
        let mut batch = self.batch();
        batch.push(Command::Copy(copy));
        let ticket = batch.ticket();
        if batch.is_full() {
            self.send_off(&mut batch)?;
        }
        Ok(ticket)
    }

    /// Submits the batch without waiting.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        self.inner.health.check()?;
        self.send_off(&mut self.batch())
    }

    fn send_off(&self, batch: &mut Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let sent = batch.submit(self);
        // Memory that comes back from now on may be used by the next batch.
        self.inner.pool.state.fetch_add(1, Ordering::AcqRel);
        self.inner.counters.submits.add(1);
        // Results that were promised are missing: from here on nothing on the device can be relied on.
        sent.map_err(|error| self.inner.health.end(error))?;
        self.inner.health.check()
    }

    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.inner.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_a_group_at_least_and_strides_beyond_its_most() {
        assert_eq!([0, 1, 256, 257, usize::MAX].map(groups), [1, 1, 1, 2, 1024]);
    }
}
