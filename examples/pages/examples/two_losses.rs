//! One scaler over two losses and two optimizers, and what skipping alone and together do.

use binade_example_pages::{Result, two_losses::Gan};

fn main() -> Result<()> {
    for together in [false, true] {
        let mut gan = Gan::new()?;
        println!("skip {}", if together { "together" } else { "alone" });
        for real in [[1.5, 2.5], [1e5, 2.5], [1.75, 2.25]] {
            let step = gan.step(real, together)?;
            println!("  {}", step.report());
            let [weight, bias, shift] = gan.weights()?;
            println!("    critic {weight:.4} {bias:.4}, maker {shift:.4}");
        }
    }
    Ok(())
}
