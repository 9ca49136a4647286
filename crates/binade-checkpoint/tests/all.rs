//! Tests of the public interface in one program, which is linked once.

mod by_rank;
mod by_rank_faults;
mod by_rank_torn;
mod common;
mod file;
mod killed;
mod killed_ranks;
mod numbers;
#[path = "../../binade-ranks/tests/observed.rs"]
mod observed;
mod refused;
mod resume;
mod several;
mod sparse;
mod torch;
mod torn;
