//! Convolutions by NVIDIA's cuDNN, if it is installed: only deterministic algorithms, one plan per shape, calls recorded like kernels.

mod api;
mod convolve;
mod problem;

pub(super) use convolve::Cudnn;
