//! A critic's slope, with and without a penalty on it.

use binade_example_pages::{Result, gradient_penalty};

fn main() -> Result<()> {
    for lambda in [0.0, 10.0] {
        let critic = gradient_penalty::run(lambda)?;
        println!("penalty x {lambda}: real and fake are {:.2} apart", critic.distance);
        println!("  slopes, measured  {:.3?}", critic.measured);
        println!("  slopes, expressed {:.3?}", critic.expressed);
    }
    Ok(())
}
