//! Tests of the public interface in one program, which is linked once.

mod common;
mod file;
mod killed;
mod numbers;
mod refused;
mod resume;
mod several;
mod torch;
mod torn;
