//! A policy with exceptions, explained and then run.

use binade_example_pages::{Result, policy_overrides};

fn main() -> Result<()> {
    for explanation in policy_overrides::explanations() {
        println!("{explanation}");
    }
    let [encoder, activation, head] = policy_overrides::run()?;
    println!("A model by it: encoder {encoder}, its tanh {activation}, head {head}.");
    println!("A product in the encoder: {}", policy_overrides::refusal()?);
    Ok(())
}
