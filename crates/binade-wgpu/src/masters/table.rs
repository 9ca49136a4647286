//! Small tables that the host fills, mostly with the same contents in every step.

use crate::{Error, Wgpu, dispatch::Bound, memory::Buffer};
use binade_gpu::Driver;
use bytemuck::Pod;

/// Table on the device, uploaded only if it has changed.
#[derive(Debug, Default)]
pub(super) struct Table {
    bytes: Vec<u8>,
    buffer: Option<Buffer>,
}

impl Table {
    /// A table of these rows, of which there must be some.
    pub(super) fn of<T: Pod>(&mut self, wgpu: &Wgpu, rows: &[T]) -> Result<Bound, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(rows);
        if let Some(known) = self.buffer.as_ref().filter(|_| self.bytes == bytes) {
            return Ok(Bound::whole(known));
        }
        // The table gets new memory, since work not yet submitted may read the old one.
        let buffer = wgpu.buffer_of(bytes)?;
        let bound = Bound::whole(&buffer);
        (self.bytes, self.buffer) = (bytes.to_vec(), Some(buffer));
        Ok(bound)
    }
}
