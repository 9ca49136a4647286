//! Tests of the public interface in one program, which is linked once.

mod common;
mod facts;
mod glob;
mod overrides;
mod presets;
mod pure;
mod saved;
