//! Tests of the public interface in one program, which is linked once.

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
