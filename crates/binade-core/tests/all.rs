//! Tests of the public interface in one program, which is linked once.

mod cast;
mod float8_sweep;
mod formats;
mod golden_casts;
mod host_optimizer;
mod native;
mod operations;
mod promote;
mod random_bits;
mod serialised;
mod stochastic;
mod unbiased;
