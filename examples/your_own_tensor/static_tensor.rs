//! Trains a classifier on ndarray's arrays, whose element type is a type parameter: bf16, f16 and f32.

use binade::grad_scaler::LossScale;
use binade_example_your_own_tensor::{Result, digits, static_mlp::train, table};
use half::{bf16, f16};

fn main() -> Result<()> {
    let (digits, dynamic) = (digits::load()?, LossScale::dynamic().with_growth_interval(40)?);
    let rows = [
        train::<bf16>(LossScale::none(), 8, &digits)?,
        train::<f16>(dynamic, 8, &digits)?,
        train::<f32>(LossScale::none(), 8, &digits)?,
    ];
    print!("{}", table(&rows));
    Ok(())
}
