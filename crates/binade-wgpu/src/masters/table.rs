//! Small tables that the host fills, most of them with the same in every step.

use crate::{Error, Wgpu, dispatch::Bound, memory::Buffer};
use binade_gpu::Driver;
use bytemuck::Pod;

/// A table on the device, uploaded where it has changed.
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
        // In memory of its own: the old one may be read by what has not been sent off.
        let buffer = wgpu.buffer_of(bytes)?;
        let bound = Bound::whole(&buffer);
        (self.bytes, self.buffer) = (bytes.to_vec(), Some(buffer));
        Ok(bound)
    }
}
