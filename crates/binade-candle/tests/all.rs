//! Tests of the public interface in one program, which is linked once.

mod batch_norm;
mod blocks;
mod checkpoint;
mod common;
mod images_and_rows;
mod kit;
mod limits;
mod ops;
mod parameters;
mod training;
mod wrapped;
