//! A stand-in for the CUDA driver: what `libcuda.so.1` exports, on top of the interpreter.
//!
//! `api` is the C side, the one place with `unsafe`; `state` is what the driver knows, safe code throughout.

mod api;
mod code;
mod host;
mod state;
