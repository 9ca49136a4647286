//! Trains by each way in each precision, and prints the rows of the README's table.

use binade_example_five_ways::{Result, own_tensor, slices, tape};
use binade_example_shared::five_ways::{Precision, SEED, Task, print};

fn main() -> Result<()> {
    let task = Task::new(SEED)?;
    let mut rows = Vec::new();
    for way in [tape::row, own_tensor::row, slices::row] {
        for precision in Precision::ALL {
            rows.push(way(&task, precision)?);
        }
    }
    Ok(print(&rows)?)
}
