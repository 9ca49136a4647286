//! Clips the same gradients, 6, 8 and 24, in four ways.

use binade_example_pages::{Result, clipping};

fn main() -> Result<()> {
    println!("{:20} {:>24} {:>20}", "clipped", "applied", "norm before");
    for clipping::Clipped { how, applied, norm } in clipping::run()? {
        let norm = norm.map_or("not measured".to_owned(), |norm| norm.to_string());
        println!("{how:20} {:>24} {norm:>20}", format!("{applied:?}"));
    }
    println!("Norm limits shrink all by one factor; the limit by value has turned the gradient.");
    Ok(())
}
