//! From the host to the device, and back.

use crate::Cuda;

binade_gpu::host_transfers!(Cuda);
