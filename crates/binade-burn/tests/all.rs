//! Tests of the public interface in one program, which is linked once.

mod common;
mod eighteen;
#[path = "common/flex.rs"]
mod flex;
mod kit;
mod module;
mod views;
