//! Stand-in for the CUDA driver: the functions that `libcuda.so.1` exports, on top of the interpreter.
//!
//! `api` is the C side, the one place with `unsafe`; `state` holds the driver's objects, in safe code throughout.

mod api;
mod code;
mod host;
mod state;
