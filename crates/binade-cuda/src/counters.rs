//! Counts of the host's work for the device.

binade_gpu::device_counters! {
    /// Kernels launched, and products and convolutions that a library was given.
    launches,
    /// Times that the host waited for the device.
    syncs,
    /// Products that the library was given. A batch counts as one, but in [`Bmm`](binade_core::ops::Bmm) forward each pair does; the
    /// kernels that the library launches for one are not counted.
    library,
    /// Convolutions and gradients of theirs that cuDNN was given, likewise.
    convolutions,
    /// Products and convolutions of `f32` among these whose library may multiply by TF32: none, unless
    /// [`Cuda::with_f32_products`](crate::Cuda::with_f32_products) asks for it.
    tf32,
    /// Queries to a library for an algorithm or a workspace: one for each combination of a product's shape, types, places and alignments.
    searches,
    /// Tables of addresses and constants that were uploaded because one of them had changed.
    tables,
    /// Bytes of these tables.
    table_bytes,
    /// Copies of tensors and of other memory within the device; casts are launches.
    copies,
    /// Tensors of other programs' memory that were adopted, without a copy.
    adopted,
    /// Copies of step reports that were started towards the host; starting one waits for nothing.
    reports,
    /// Replays of captured steps, each in one launch; their kernels are not counted again.
    replays,
    /// Times that this device was made to wait for another rank of [`Communicator::peers`](crate::Communicator::peers) or for another
    /// device of its model, by an event; the host does not.
    meetings,
}
