//! Copies and fills, each checked against the allocations it touches.

use super::{Driver, Handle, tell};
use crate::{
    Access, Fault,
    driver::{
        code::{Code, Result},
        host::HostSpan,
    },
    memory::device_of,
};

impl Driver {
    /// Refuses an address of another device than the context's. A real driver finds the device by unified addressing in copies
    /// and fills. Here such an address is a mistake.
    pub(crate) fn own(&self, context: Handle, at: u64) -> Result {
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

    pub(crate) fn upload(&mut self, to: u64, from: &HostSpan) -> Result {
        self.wait_to_upload(from);
        from.read(self.bytes(to, from.bytes(), Access::Write)?);
        Ok(())
    }

    pub(crate) fn download(&mut self, to: &HostSpan, from: u64) -> Result {
        self.wait_to_download(to);
        to.write(self.bytes(from, to.bytes(), Access::Read)?);
        Ok(())
    }

    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result {
        self.gpu.copy(to, from, bytes).map_err(invalid)
    }

    pub(crate) fn fill(&mut self, at: u64, pattern: &[u8], count: usize) -> Result {
        let bytes = count.checked_mul(pattern.len()).ok_or(Code::InvalidValue)?;
        let memory = self.bytes(at, bytes, Access::Write)?;
        memory.chunks_exact_mut(pattern.len()).for_each(|part| part.copy_from_slice(pattern));
        Ok(())
    }

    /// Returns device memory in place, if it lies in one allocation and all bytes to be read were written.
    pub(crate) fn bytes(&mut self, at: u64, bytes: usize, access: Access) -> Result<&mut [u8]> {
        self.gpu.access(at, bytes, access).map_err(invalid)
    }
}

/// Prints a fault of a call, and returns the code that a driver has for it.
pub(crate) fn invalid(fault: Fault) -> Code {
    tell(fault);
    Code::InvalidValue
}
