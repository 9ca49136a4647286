//! Recipe of several ranks: candle's own `AdamW` on each, over averages of all. Ranks are threads here; `binade_mpi::run` makes them
//! processes.

use binade::grad_scaler::LossScale;
use binade::prelude::*;
use binade_candle::{Candle, Wrapped, backward, casting_var_builder, params};
use binade_example_candle::{Mlp, RATE, Result, Task};
use binade_example_shared::ranks::{self, Ended, SHARDS};
use binade_ranks::{Group, RankOptimizer, Ranks};
use candle_core::{DType::F16, DType::F32, Device, Module, Tensor};
use candle_nn::{AdamW, ParamsAdamW};

const STEPS: usize = 100;

/// Trains as one rank.
pub(crate) fn rank<G: Group>(group: G) -> Result<Ended> {
    let own = ranks::shards(&group);
    let device = Ranks::new(Candle, group);
    let task = Task::new(F32)?;
    let mut params = params(&task.map);
    device.broadcast(&mut params)?; // rank 0's first weights, whatever this rank has drawn
    let config = ParamsAdamW { lr: 10.0 * RATE, ..ParamsAdamW::default() };
    let mut optimizer = Wrapped::<AdamW>::new(&params, config)?;
    let mut scaler = Scaler::new(device.clone(), LossScale::dynamic())?;

    let mut ended = Ended::default();
    for step in 0..STEPS {
        let mlp = Mlp::new(&casting_var_builder(&task.map, F16, &Device::Cpu))?;
        let loss = |shard| Ok((loss(&mlp, &task, shard)? * f64::from(ranks::factor(step, shard)))?);
        let losses = own.clone().map(loss).collect::<Result<Vec<_>>>()?;

        let grads = scaler
            .scale(&losses)?
            .backward(|losses| losses.iter().map(|loss| Ok(backward(loss, &params)?)).collect())?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut RankOptimizer(&mut optimizer))?;
        let losses: Vec<f32> =
            losses.iter().map(|loss| Ok(loss.to_scalar()?)).collect::<Result<_>>()?;
        ended.record(&losses, scaler.update(step)?.resolve()?)?;
    }
    device.check_equal(&params)?;
    for param in &params {
        ended
            .weights
            .extend(param.value.flatten_all()?.to_vec1::<f32>()?.iter().map(|x| x.to_bits()));
    }
    Ok(ended)
}

/// Computes the loss of a shard of the points.
fn loss(mlp: &Mlp, task: &Task, shard: usize) -> Result<Tensor> {
    let points = task.x.dim(0)? / SHARDS;
    let [x, y] = [&task.x, &task.y].map(|of| of.narrow(0, shard * points, points));
    let output = mlp.forward(&x?.to_dtype(F16)?)?.to_dtype(F32)?;
    Ok(candle_nn::loss::mse(&output, &y?)?)
}

fn main() -> Result<()> {
    ranks::main(rank)
}
