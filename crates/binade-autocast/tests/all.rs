//! Tests of the public interface in one program, which is linked once.

mod cache;
mod cast_stats;
mod common;
mod region;
mod scope;
