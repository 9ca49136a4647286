//! Master weights on the CPU: the fused step, in blocks, on all threads.

mod fused;
mod master_weights;
mod snapshot;
mod sparse;
