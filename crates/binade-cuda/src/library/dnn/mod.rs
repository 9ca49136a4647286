//! Convolutions by NVIDIA's cuDNN, where it is installed: deterministic algorithms alone, a plan once a shape, told to the
//! recorder like a kernel.

mod api;
mod convolve;
mod open;
mod problem;

pub(super) use open::Dnn;
