//! Page of sparse gradients: a step looks up a thousand rows of a large table, and moves these alone.
//!
//! `--rows N` sets the size of the table. It prints the times of a step by whole gradients and by sparse ones.

use binade::prelude::*;
use binade_candle::{Candle, SparseLookups, named};
use binade_example_candle::Result;
use candle_core::{DType::F32, Device, Tensor, Var};
use std::time::{Duration, Instant};

const WIDTH: usize = 64;
const LOOKED_UP: u32 = 1000;
const STEPS: usize = 9;

/// Table after some steps, and the median of their times.
pub(crate) struct Trained {
    pub(crate) table: Tensor,
    pub(crate) step: Duration,
}

/// Draws the rows towards 1.
pub(crate) fn train(rows: u32, is_sparse: bool) -> Result<Trained> {
    let table = Var::zeros((rows as usize, WIDTH), F32, &Device::Cpu)?;
    let params = named([("words".to_owned(), table.clone())]);
    let config = OptimizerConfig::new(UpdateRule::sparse_adam(0.01))?;
    let mut optimizer = MasterOptimizer::new(Candle, params, config)?;
    let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
    let words = words(rows)?;

    let mut times = Vec::new();
    for _ in 0..STEPS {
        let begin = Instant::now();
        let lookups = SparseLookups::default(); // of one forward pass
        let found =
            if is_sparse { lookups.embedding(&table, &words)? } else { table.embedding(&words)? };
        let loss = (found - 1.0)?.sqr()?.mean_all()?;

        let grads =
            scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &optimizer.params))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;
        scaler.update(step)?.resolve()?.into_applied()?;
        times.push(begin.elapsed());
    }
    times.sort();
    Ok(Trained { table: table.into_inner(), step: times[STEPS / 2] })
}

/// Returns rows all over the table, by Knuth's multiplicative hash.
pub(crate) fn words(rows: u32) -> Result<Tensor> {
    let words: Vec<u32> = (0..LOOKED_UP).map(|i| i.wrapping_mul(2_654_435_769) % rows).collect();
    Ok(Tensor::from_slice(&words, words.len(), &Device::Cpu)?)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rows = match &args[..] {
        [] => 1 << 18,
        [flag, rows] if flag == "--rows" => rows.parse()?,
        _ => return Err("give `--rows N`, or nothing".into()),
    };
    println!("{LOOKED_UP} rows of {rows} × {WIDTH}");
    for (name, is_sparse) in [("whole", false), ("sparse", true)] {
        let Trained { table, step } = train(rows, is_sparse)?;
        let moved = table.sum(1)?.ne(0.0)?.to_dtype(F32)?.sum_all()?.to_scalar::<f32>()?;
        println!(
            "{name:<6} gradients: {:.3} ms a step, {moved} rows moved",
            1e3 * step.as_secs_f64()
        );
    }
    Ok(())
}
