//! The scale on the device, and as the host knows it.

use super::report::Report;
use crate::memory::Buffer;
use std::sync::Arc;

/// A scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Clone, Debug)]
pub struct Scale {
    pub(super) bits: Arc<Buffer>,
    /// Of the update that made it, on its way to the host.
    pub(super) report: Option<Arc<Report>>,
}

impl Scale {
    pub(super) fn new(bits: Buffer) -> Self {
        Self { bits: Arc::new(bits), report: None }
    }
}
