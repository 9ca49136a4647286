//! Tests of the library that stands in for the driver, by host code that knows nothing of the interpreter, cudarc's above all.
//!
//! Each test is a process of its own: a fault stays in its context for good, and the loader looks for the driver only at a
//! process's start.
#![cfg(target_os = "linux")]

mod abroad;
mod capture;
mod contexts;
mod convolutions;
mod convolutions_misuse;
mod coverage;
mod device;
mod devices;
mod faults;
mod kernels;
mod memory;
mod misuse;
mod modules;
mod nccl;
mod process;
mod products;
mod products_misuse;
mod streams;
