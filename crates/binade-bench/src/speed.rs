//! Benchmarks of the CUDA backend: work, the clock that times it, and the page of figures.

mod bench;
mod beside;
mod casts;
mod ceilings;
mod clock;
mod compare;
mod computing;
mod data;
mod gpt;
mod mlp;
mod norms;
mod page;
mod parts;
mod passes;
mod plan;
mod products;
mod replays;
mod row;
mod steps;
mod table;
mod training;

pub use bench::{Bench, Options};
pub use page::Origin;

/// Result of a benchmark. Its error is a message for a person.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Piece of work that can be done again and again.
pub(crate) trait Work {
    type Input;
    type Output;

    /// Prepares the input of a round; not timed.
    fn prepare(&mut self, round: usize) -> Result<Self::Input>;

    fn run(&mut self, input: Self::Input) -> Result<Self::Output>;

    /// Returns the number of inputs that take turns. As many outputs stay alive, so that the next is written to other memory.
    fn turns(&self) -> usize {
        1
    }
}
