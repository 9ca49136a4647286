//! Copies and fills, each checked against the allocations it touches.

use super::{Driver, Handle, graph::Node, tell};
use crate::{
    DevicePtr, MemoryError,
    driver::{
        code::{Code, Result},
        host::HostSpan,
    },
    memory::device_of,
};

/// Copies and fills put into a stream.
impl Driver {
    pub(in crate::driver) fn submit_upload(
        &mut self,
        to: u64,
        from: HostSpan,
        stream: Handle,
    ) -> Result {
        self.context()?;
        self.submit(stream, Node::Upload { to, from })
    }

    pub(in crate::driver) fn submit_download(
        &mut self,
        to: HostSpan,
        from: u64,
        stream: Handle,
    ) -> Result {
        self.context()?;
        self.submit(stream, Node::Download { to, from })
    }

    pub(in crate::driver) fn submit_copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        stream: Handle,
    ) -> Result {
        self.context()?;
        self.submit(stream, Node::Copy { to, from, bytes })
    }

    /// Puts a copy between devices into a stream. Each address comes with a context of its device. The copy is ordered by this
    /// one stream: an event must make it wait for work elsewhere.
    pub(in crate::driver) fn submit_peer_copy(
        &mut self,
        (to, to_context): (u64, Handle),
        (from, from_context): (u64, Handle),
        bytes: usize,
        stream: Handle,
    ) -> Result {
        self.context()?;
        self.own(to_context, to)?;
        self.own(from_context, from)?;
        self.submit(stream, Node::PeerCopy { to, from, bytes })
    }

    /// Puts a fill into a stream: `count` times the pattern, at a multiple of its width.
    pub(in crate::driver) fn submit_fill(
        &mut self,
        at: u64,
        pattern: Vec<u8>,
        count: usize,
        stream: Handle,
    ) -> Result {
        self.context()?;
        if !at.is_multiple_of(pattern.len() as u64) {
            return Err(Code::InvalidValue);
        }
        self.submit(stream, Node::Fill { at, pattern, count })
    }
}

/// Copies and fills carried out.
impl Driver {
    /// Refuses an address of another device than the context's. A real driver finds the device by unified addressing in copies
    /// and fills. Here such an address is a mistake.
    pub(super) fn own(&self, context: Handle, at: u64) -> Result {
        let device = self.device_of(context)?;
        match device_of(at) {
            Some(other) if other != device => {
                tell(format_args!(
                    "{at:#x} is device {other}'s, and the context device {device}'s"
                ));
                Err(Code::InvalidValue)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn upload(&mut self, to: u64, from: &HostSpan) -> Result {
        from.read(self.gpu.bytes(DevicePtr::at(to), from.bytes()).map_err(outside)?);
        Ok(())
    }

    pub(super) fn download(&mut self, to: &HostSpan, from: u64) -> Result {
        to.write(self.gpu.bytes(DevicePtr::at(from), to.bytes()).map_err(outside)?);
        Ok(())
    }

    pub(super) fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result {
        let values = self.gpu.read(DevicePtr::at(from), bytes).map_err(outside)?;
        self.gpu.write(DevicePtr::at(to), &values).map_err(outside)
    }

    pub(super) fn fill(&mut self, at: u64, pattern: &[u8], count: usize) -> Result {
        let bytes = count.checked_mul(pattern.len()).ok_or(Code::InvalidValue)?;
        let memory = self.gpu.bytes(DevicePtr::at(at), bytes).map_err(outside)?;
        memory.chunks_exact_mut(pattern.len()).for_each(|part| part.copy_from_slice(pattern));
        Ok(())
    }
}

fn outside(error: MemoryError) -> Code {
    tell(error);
    Code::InvalidValue
}
