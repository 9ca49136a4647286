//! Delayed uploads from pinned memory: another stream sees them only once it has waited for them, as on a device that copies concurrently with its
//! kernels.

use super::{Driver, Handle, graph::Node, tell};
use crate::{
    Access,
    driver::{code::Result, host::HostSpan},
};

/// Upload that its stream has not come to.
#[derive(Debug)]
pub(crate) struct Late {
    stream: Handle,
    to: u64,
    bytes: Vec<u8>,
}

impl Driver {
    /// Puts an upload into a stream. The upload is delayed if its source is pinned, except in captures.
    pub(crate) fn upload_in_order(&mut self, stream: Handle, to: u64, from: HostSpan) -> Result {
        let place = self.stream(stream)?;
        let (capture, context) = {
            let stream = self.streams.get(place)?;
            (stream.capture, stream.context)
        };
        if capture.is_some() || !self.is_pinned(&from) {
            return self.enqueue(stream, Node::Upload { to, from });
        }
        self.context()?;
        self.own(context, to)?;
        self.bytes(to, from.bytes(), Access::Write)?;
        let mut bytes = vec![0; from.bytes()];
        from.read(&mut bytes);
        self.late.push(Late { stream: place, to, bytes });
        Ok(())
    }

    /// Does the delayed uploads of this stream, before its other work, or that of a stream that waits for it.
    pub(crate) fn catch_up(&mut self, stream: Handle) {
        let is_its = |late: &mut Late| late.stream == stream;
        let due: Vec<Late> = self.late.extract_if(.., is_its).collect();
        self.arrive(&due);
    }

    /// Does the delayed uploads of all streams, before the host continues after a wait.
    pub(crate) fn catch_up_all(&mut self) {
        let due = std::mem::take(&mut self.late);
        self.arrive(&due);
    }

    fn arrive(&mut self, due: &[Late]) {
        for Late { to, bytes, .. } in due {
            match self.bytes(*to, bytes.len(), Access::Write) {
                Ok(place) => place.copy_from_slice(bytes),
                Err(code) => tell(format_args!("an upload to {to:#x} came to nothing: {code:?}")),
            }
        }
    }
}
