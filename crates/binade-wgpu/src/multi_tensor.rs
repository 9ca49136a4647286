//! Arithmetic on sets of tensors, by the shaders of gradients: a dispatch for each tensor, since a shader has no addresses.

use crate::Wgpu;
use binade_gpu::MultiTensorKernels;

impl MultiTensorKernels for Wgpu {}
