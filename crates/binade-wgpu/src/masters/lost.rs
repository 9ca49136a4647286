//! Counts of what each parameter's last step lost, beside the counts of applied steps.

use crate::{
    Error, Wgpu,
    dispatch::{
        Bound, groups,
        structs::{self, AppliedRow, count},
    },
    memory::Buffer,
};
use binade_gpu::Driver;
use binade_master_weights::LostUpdates;

/// Sets the lost updates of this many parameters to zero.
pub(super) fn forget(wgpu: &Wgpu, counts: &Buffer, parameters: usize) -> Result<(), Error> {
    let params = structs::Prepare { count: count(parameters) };
    wgpu.dispatch("forget_lost", &params, vec![Bound::whole(counts)], groups(parameters))
}

/// Waits for the device and returns the lost updates by slot.
pub(super) fn read(wgpu: &Wgpu, counts: &Buffer) -> Result<Vec<LostUpdates>, Error> {
    let bytes = wgpu.read_bytes(counts, 0..counts.bytes())?;
    let lost = |row| {
        let AppliedRow { lost, moved, .. } = bytemuck::pod_read_unaligned(row);
        LostUpdates { lost: lost.into(), moved: moved.into() }
    };
    Ok(bytes.chunks_exact(size_of::<AppliedRow>()).map(lost).collect())
}
