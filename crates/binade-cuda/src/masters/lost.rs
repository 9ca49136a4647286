//! Counts of lost updates on the device.

use crate::{Cuda, Error, launch::structs::LostBits, memory::Buffer};
use binade_gpu::Driver;
use binade_master_weights::LostUpdates;
use std::sync::Arc;

/// Returns room for the lost updates of so many parameters, if they are counted: the counts so far, and zeros behind them.
pub(super) fn lost_counts(
    cuda: &Cuda,
    before: Option<&Arc<Buffer>>,
    parameters: usize,
    counted: bool,
) -> Result<Option<Arc<Buffer>>, Error> {
    let bytes = size_of::<LostBits>() * parameters;
    match before {
        _ if !counted => Ok(None),
        Some(counts) if counts.bytes() >= bytes => Ok(Some(counts.clone())),
        Some(counts) => Ok(Some(Arc::new(cuda.grown(counts, bytes)?))),
        None => Ok(Some(Arc::new(cuda.zeros(bytes)?))),
    }
}

/// Reads the lost updates of each parameter's last step.
pub(super) fn read_lost(cuda: &Cuda, counts: &Buffer) -> Result<Vec<LostUpdates>, Error> {
    let bytes = cuda.read_bytes(counts, 0..counts.bytes())?;
    let counts = bytes.chunks_exact(size_of::<LostBits>()).map(|row| {
        let LostBits { lost, moved } = bytemuck::pod_read_unaligned(row);
        LostUpdates { lost, moved }
    });
    Ok(counts.collect())
}
