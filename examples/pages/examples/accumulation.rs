//! Window of four micro-batches, one of them bad, and one step.

use binade_example_pages::{Result, accumulation};

fn main() -> Result<()> {
    let window = accumulation::run()?;
    println!("weight is {:?} after one step of the window", window.weight);
    println!("left out: {}", window.dropped.join(", "));
    println!("{}", window.report);
    Ok(())
}
