//! Table of a recipe: `f32`, candle alone in sixteen bits, and the recipe in sixteen bits.

use crate::{Result, STEPS, Trained, alone};
use binade::prelude::DType;

/// Trains by `recipe` in `bf16` and `f16`, and by candle alone for comparison, and prints each result.
///
/// # Errors
///
/// The errors of the runs.
pub fn print(name: &str, recipe: impl Fn(DType) -> Result<Trained>) -> Result<()> {
    println!(
        "{:28} {:>9} {:>9} {:>14} {:>8} {:>8}",
        "",
        "loss at 1",
        format!("at {STEPS}"),
        "weights moved",
        "skipped",
        "scale"
    );
    for (how, trained) in rows(name, recipe)? {
        let first = trained.losses.first().copied().unwrap_or(f32::NAN);
        let scale = trained.scale.map_or("none".to_owned(), |scale| scale.to_string());
        let moved = format!("{:.0} %", 100.0 * trained.moved);
        println!(
            "{how:28} {first:9.4} {:9.4} {moved:>14} {:8} {scale:>8}",
            trained.last(),
            trained.skipped
        );
    }
    Ok(())
}

fn rows(name: &str, recipe: impl Fn(DType) -> Result<Trained>) -> Result<Vec<(String, Trained)>> {
    let mut rows = vec![("f32, candle alone".to_owned(), alone(candle_core::DType::F32)?)];
    for dtype in [DType::BF16, DType::F16] {
        let trained = alone(binade_candle::candle_dtype(dtype)?)?;
        rows.push((format!("{dtype}, candle alone"), trained));
        rows.push((format!("{dtype}, {name}"), recipe(dtype)?));
    }
    Ok(rows)
}
