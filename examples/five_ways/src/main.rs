//! Trains by each way in each precision, and prints the rows of the README's table.

use binade_example_five_ways::{Result, own_tensor, slices, tape};
use binade_example_shared::five_ways::print;

fn main() -> Result<()> {
    print(&[tape::row, own_tensor::row, slices::row])
}
