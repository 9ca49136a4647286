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
pub use error::ParseError;
pub use gpu::Gpu;
pub use launch::{Arg, Dim3};
pub use module::{Capability, Module};
pub use report::{Access, Fault, Report, ReportKind, Space};

/// Returns a hash, equal for equal values.
pub(crate) fn hash_of(value: &(impl std::hash::Hash + ?Sized)) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns every instruction form that the interpreter knows, as PTX spells it, in no particular order.
pub fn known_forms() -> impl Iterator<Item = &'static str> {
    isa::forms().iter().map(|form| form.name)
}
