//! Convolutions by NVIDIA's cuDNN, if it is installed: deterministic algorithms alone, one plan a shape, calls recorded like
//! kernels.

mod api;
mod convolve;
mod problem;

pub(super) use convolve::Cudnn;
