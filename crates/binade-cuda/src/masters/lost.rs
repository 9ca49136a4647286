//! Counts of lost updates on the device: two words for each parameter, where the plan asks for them.

use super::Masters;
use crate::{Cuda, Error, launch::structs::LostBits, memory::Buffer};
use binade_master_weights::LostUpdates;
use std::sync::Arc;

/// `LostCount` by slot, of each parameter's last step.
#[derive(Clone, Debug)]
pub(super) struct Lost(Option<Arc<Buffer>>);

impl Lost {
    /// Zeros for so many slots, if they are to be counted.
    pub(super) fn new(cuda: &Cuda, slots: usize, counted: bool) -> Result<Self, Error> {
        let zeros = || cuda.zeros(size_of::<LostBits>() * slots).map(Arc::new);
        Ok(Self(counted.then(zeros).transpose()?))
    }

    /// What follows where there are `slots` from now on, and `counted` says whether to count.
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

    /// By slot. Waits for the device, where there is something to wait for.
    pub(super) fn read(&self, cuda: &Cuda) -> Result<Option<Vec<LostUpdates>>, Error> {
        let Some(counts) = &self.0 else { return Ok(None) };
        let bytes = cuda.read(counts)?;
        let counts = bytes.chunks_exact(size_of::<LostBits>()).map(|row| {
            let LostBits { lost, moved } = bytemuck::pod_read_unaligned(row);
            LostUpdates { lost, moved }
        });
        Ok(Some(counts.collect()))
    }
}

impl Masters {
    /// What the last step of each parameter lost, together; `None` where the plan does not ask for it. A read, which waits
    /// for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn lost_updates(&self, cuda: &Cuda) -> Result<Option<LostUpdates>, Error> {
        Ok(self.lost.read(cuda)?.map(|counts| {
            let mut all = LostUpdates::default();
            for one in counts {
                all += one;
            }
            all
        }))
    }
}
