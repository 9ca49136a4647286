//! Fits a model whose tensor is this page's own.

use binade_example_pages::{Result, own_tensor};

fn main() -> Result<()> {
    let fit = own_tensor::run()?;
    println!("looked for {:?}", own_tensor::TRUTH);
    println!("found      {:?}", fit.weight);
    println!("{} steps were skipped while the scale came down", fit.skipped);
    Ok(())
}
