//! Trains by each way in each precision, and prints the rows as JSON.

use binade_example_five_ways::{Result, slices, tape};
use binade_example_shared::five_ways::{Precision, Task, print};

/// What fixes the split, the first weights and the order of images.
const SEED: u64 = 7;

fn main() -> Result<()> {
    let task = Task::new(SEED)?;
    let mut rows = Vec::new();
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        rows.push(tape::row(&task, precision)?);
    }
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        rows.push(slices::row(&task, precision)?);
    }
    Ok(print(&rows)?)
}
