//! Takes 4096 equal updates, with and without f32 masters.

use binade::prelude::*;
use binade_example_pages::{Result, lost_updates};

fn main() -> Result<()> {
    for dtype in [DType::BF16, DType::F16] {
        let (with, without) =
            (lost_updates::run(OptLevel::O2, dtype)?, lost_updates::run(OptLevel::O3, dtype)?);
        println!("{dtype:4}: 1 + 4096 * 2^-12 is {with} with a master, {without} without");
    }
    Ok(())
}
