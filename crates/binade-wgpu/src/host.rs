//! Tensors out of host values, and host values out of tensors.

use crate::Wgpu;

binade_gpu::host_transfers!(Wgpu);
