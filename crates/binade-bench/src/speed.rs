//! Benchmarks of the CUDA backend: work, the clock that times it, and the page of figures.

mod bench;
pub(crate) mod clock;
mod compare;
mod computing;
pub(crate) mod data;
mod gpt;
mod gradients;
mod page;
mod parts;
mod passes;
mod plan;
pub(crate) mod products;
mod row;
mod steps;
mod table;
mod training;
mod uploads;
mod work;

pub use bench::Options;
pub use page::Origin;

use crate::Result;
use bench::Bench;
use serde::Serialize;
use std::fmt::Display;

/// Runs the benchmarks on the first device and returns their figures, which display as a table.
///
/// # Errors
///
/// If there is no device, it fails, or it is the interpreter and the run is not a dry one: its times mean nothing.
pub fn measure(options: Options, origin: Origin) -> Result<impl Display + Serialize> {
    let mut bench = Bench::open(options)?;
    bench.run()?;
    bench.page(origin)
}
