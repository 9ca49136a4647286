//! Trains a classifier on a tensor of this example's own, without Binade and with it, and runs the kit on the tensor.

use binade_example_your_own_tensor::{EPOCHS, Result, runs, subject::Subject, table};

fn main() -> Result<()> {
    println!("{}", table(&runs(EPOCHS)?));
    println!("The runs with Binade were saved half-way and resumed, to the same bits.\n");
    let report = Subject::report();
    // This is the report's last line; the rest lists what the tensor does not offer, case by case.
    println!("The kit on {}", report.to_string().lines().last().unwrap_or_default());
    report.assert_success();
    Ok(())
}
