//! Counts of the host's work for the device.

binade_gpu::device_counters! {
    /// Times that the host waited for the device.
    syncs,
    /// Shaders that were dispatched; each part of a large tensor counts as one.
    dispatches,
    /// Command buffers that were submitted.
    submits,
    /// Bytes that were uploaded: tensors, and state that the host keeps current on the device.
    uploaded_bytes,
}
