//! How fast the CUDA backend is: work, the clock that times it, and the page that tells of it.

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

/// What ends a benchmark early: the message is all that a person needs.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A piece of work that can be done again and again.
pub(crate) trait Work {
    type Input;
    type Output;

    /// What must be there before the work begins; not timed.
    fn prepare(&mut self, round: usize) -> Result<Self::Input>;

    fn run(&mut self, input: Self::Input) -> Result<Self::Output>;

    /// How many inputs take turns. As many outputs stay alive, so that the next is written to other memory.
    fn turns(&self) -> usize {
        1
    }
}
