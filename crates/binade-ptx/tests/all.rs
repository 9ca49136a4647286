//! Tests of the public interface and of the stand-in driver in one program, which is linked once.

mod backend;
mod driver;
mod forms;
mod meaning;
mod planted_bugs;
mod right_kernels;
mod strict;
mod support;
