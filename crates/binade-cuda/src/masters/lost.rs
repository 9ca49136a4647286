//! Counts of lost updates on the device: two words for each parameter, where the configuration asks for them.

use crate::{Cuda, Error, launch::structs::LostBits, memory::Buffer};
use binade_gpu::Driver;
use binade_master_weights::LostUpdates;
use std::sync::Arc;

/// `LostCount` by slot, of each parameter's last step.
#[derive(Clone, Debug)]
pub(super) struct LostCounts(Option<Arc<Buffer>>);

impl LostCounts {
    /// Zeros for so many slots, if they are to be counted.
    pub(super) fn new(cuda: &Cuda, slots: usize, counted: bool) -> Result<Self, Error> {
        let zeros = || cuda.zeros(size_of::<LostBits>() * slots).map(Arc::new);
        Ok(Self(counted.then(zeros).transpose()?))
    }

    /// Returns the counts of `slots` parameters from now on, if `counted`.
    pub(super) fn next(&self, cuda: &Cuda, slots: usize, counted: bool) -> Result<Self, Error> {
        let bytes = size_of::<LostBits>() * slots;
        match &self.0 {
            Some(counts) if counted && counts.bytes() < bytes => {
                Ok(Self(Some(Arc::new(cuda.grown(counts, bytes)?))))
            }
            Some(_) if counted => Ok(self.clone()),
            _ => Self::new(cuda, slots, counted),
        }
    }

    /// Where they are, or 0.
    pub(super) fn address(&self) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts.address())
    }

    /// Waits for the device and returns the counts by slot; none where nothing is counted.
    pub(super) fn read(&self, cuda: &Cuda) -> Result<Vec<LostUpdates>, Error> {
        let Some(counts) = &self.0 else { return Ok(Vec::new()) };
        let bytes = cuda.read(counts)?;
        let counts = bytes.chunks_exact(size_of::<LostBits>()).map(|row| {
            let LostBits { lost, moved } = bytemuck::pod_read_unaligned(row);
            LostUpdates { lost, moved }
        });
        Ok(counts.collect())
    }
}
