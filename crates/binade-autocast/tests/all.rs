//! Tests of the public interface in one program, which is linked once.

mod ambient;
mod cache;
mod common;
mod ledger;
mod region;
mod scope;
