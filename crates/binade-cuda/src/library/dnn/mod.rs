//! Convolutions by NVIDIA's cuDNN, if it is installed: deterministic algorithms alone, one plan a shape, calls recorded like
//! kernels.

mod api;
mod convolve;
mod open;
mod problem;

pub(super) use open::Dnn;
