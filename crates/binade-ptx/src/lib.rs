#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod coverage;
#[expect(unsafe_code, reason = "the C interface of the CUDA driver")]
mod driver;
mod error;
mod exec;
mod gpu;
mod isa;
mod launch;
mod memory;
mod module;
mod parse;
mod report;

pub use coverage::Coverage;
pub use error::{LaunchError, MemoryError, ParseError};
pub use gpu::{DevicePtr, Gpu};
pub use launch::{Arg, Dim3};
pub use module::{Capability, Module, Strictness};
pub use report::{Access, Fault, Report, ReportKind, Space};

/// Returns every instruction form that the interpreter knows, as PTX spells it, in no particular order.
pub fn known_forms() -> impl Iterator<Item = &'static str> {
    isa::forms().iter().map(|form| form.name)
}
