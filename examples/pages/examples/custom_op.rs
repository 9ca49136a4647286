//! Two layers, kept and recomputed, in a region and outside.

use binade::prelude::*;
use binade_example_pages::{Result, custom_op};

fn main() -> Result<()> {
    for region in [Region::f16().off(), Region::bf16(), Region::f16()] {
        let name = if region.is_on() { region.dtype().name() } else { "none" };
        let (kept, recomputed) = (custom_op::run(&region, false)?, custom_op::run(&region, true)?);
        if recomputed.gradients != kept.gradients {
            return Err(format!("region {name}: recomputing gave other gradients").into());
        }
        println!(
            "region {name:4}: the tape keeps {} bytes, recomputing {}; the gradients are equal to the bit",
            kept.kept, recomputed.kept
        );
    }
    Ok(())
}
