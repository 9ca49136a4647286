//! A buffer of wgpu's, and the batch that used it last.
//!
//! Shaders run in the order in which they were asked for, so that a buffer's next user comes behind its last one. An upload does
//! not: the host writes before all that has not been submitted. So an upload takes no buffer that the batch at hand may still
//! use.

use binade_gpu::Memory;
use std::sync::atomic::{AtomicU64, Ordering};

/// A buffer of wgpu's: a multiple of 256 bytes.
#[derive(Debug)]
pub struct Allocation {
    pub(crate) buffer: wgpu::Buffer,
    /// The batch that may be the last to use it.
    batch: u64,
}

impl Allocation {
    /// A new buffer, which no batch has used.
    pub(crate) fn new(buffer: wgpu::Buffer) -> Self {
        Self { buffer, batch: 0 }
    }

    /// Returns true if no batch from the one of this number on uses it.
    pub(crate) fn is_unused_by(&self, batch: &AtomicU64) -> bool {
        self.batch < batch.load(Ordering::Acquire)
    }
}

impl Memory for Allocation {
    /// The number of the batch at hand.
    type State = AtomicU64;

    fn bytes(&self) -> usize {
        usize::try_from(self.buffer.size()).unwrap_or(usize::MAX)
    }

    fn retire(self, batch: &AtomicU64) -> Option<Self> {
        Some(Self { batch: batch.load(Ordering::Acquire), ..self })
    }
}
