//! Tests of the public interface in one program, which is linked once.

mod common;
mod convergence;
mod counting;
mod double_backward;
mod each;
mod errors;
mod first_layer;
mod gradients;
mod norms;
mod record;
mod regions;
mod sparse;
mod training;
