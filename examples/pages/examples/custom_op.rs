//! Two layers, kept and recomputed, in a region and outside.

use binade::prelude::*;
use binade_example_pages::{Result, custom_op};

fn main() -> Result<()> {
    for (name, region) in
        [("off", Region::f16().off()), ("bf16", Region::bf16()), ("f16", Region::f16())]
    {
        let kept = custom_op::run(&region, false)?;
        let recomputed = custom_op::run(&region, true)?;
        let same = kept.gradients == recomputed.gradients;
        println!(
            "region {name:4}: loss {:.6}, the tape keeps {} bytes, or {} recomputed; gradients {}",
            recomputed.loss,
            kept.kept,
            recomputed.kept,
            if same { "equal to the bit" } else { "DIFFER" }
        );
    }
    Ok(())
}
