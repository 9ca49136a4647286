//! Arithmetic on sets of tensors, by the shaders of gradients. Each tensor is a separate dispatch, since a shader takes no addresses.

use crate::Wgpu;
use binade_gpu::MultiTensorKernels;

impl MultiTensorKernels for Wgpu {}
