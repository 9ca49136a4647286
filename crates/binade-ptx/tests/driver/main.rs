//! Host code that knows nothing of the interpreter, cudarc's above all, on the library that stands in for the driver.
//!
//! Each test is a process of its own: a fault stays in its context for good, and the loader looks at a process's start only.
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
mod process;
mod products;
mod products_misuse;
mod streams;
