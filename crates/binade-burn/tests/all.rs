//! Tests of the public interface, in one program so that the linker runs once.

mod common;
mod eighteen;
#[path = "common/flex.rs"]
mod flex;
#[path = "../../../tests/frameworks/mod.rs"]
mod frameworks;
mod kit;
mod module;
mod ranks;
mod sparse;
mod views;
