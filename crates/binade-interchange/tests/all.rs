//! Tests of the public interface in one program, which is linked once.

mod dtype_policy;
mod imported_values;
mod state;
