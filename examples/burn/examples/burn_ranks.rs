//! Network of burn's on several ranks: burn's own `AdamW` on each, over averages of all. Ranks are threads here; `binade_mpi::run` makes
//! them processes.

use binade_burn::{
    Burn, BurnOptimizer, BurnTensor, Views, parameters, require_dtype, with_parameters,
};
use binade_core::DType;
use binade_example_burn::{Batch, Mlp, batch};
use binade_example_shared::ranks::{self, Ended, Result, SHARDS};
use binade_grad_scaler::{LossScale, Scaler};
use binade_ranks::{Group, RankOptimizer, Ranks};
use burn::optim::AdamWConfig;
use burn::tensor::{Device, FloatDType, Tensor};

const STEPS: usize = 100;

/// Trains as one rank.
pub(crate) fn rank<G: Group>(group: G) -> Result<Ended> {
    let (own, seed) = (ranks::shards(&group), group.rank() as u64);
    let (ranks, device) = (Ranks::new(Burn, group), Device::flex().autodiff());
    let (batch, f16) = (batch(&device), require_dtype(&device, DType::F16)?);

    let model = Mlp::seeded(&device, seed); // other weights on each rank
    let mut params = parameters(&model);
    ranks.broadcast(&mut params)?; // rank 0's on all
    let model = Views::lower(DType::F16).attach(with_parameters(model, params)?)?;
    let mut trained = BurnOptimizer::new(model, AdamWConfig::new().init(), 3e-3);
    let mut scaler = Scaler::new(ranks.clone(), LossScale::dynamic())?;

    let mut ended = Ended::default();
    for step in 0..STEPS {
        let loss = |shard| loss(&trained.module, &batch, (shard, f16)) * ranks::factor(step, shard);
        let losses: Vec<_> = own.clone().map(|shard| BurnTensor::from(loss(shard))).collect();

        let grads = scaler.scale(&losses)?.backward(|losses| {
            losses.iter().map(|loss| Ok(loss.backward(&trained.module)?)).collect()
        })?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut RankOptimizer(&mut trained))?;
        let losses: Vec<f32> = losses.iter().map(|loss| loss.flat().into_scalar()).collect();
        ended.record(&losses, scaler.update(step)?.resolve()?)?;
    }
    let params = parameters(&trained.module);
    ranks.check_equal(&params)?;
    for param in params {
        let values = param.value.flat().into_data().try_to_vec::<f32>()?;
        ended.weights.extend(values.into_iter().map(f32::to_bits));
    }
    Ok(ended)
}

/// Returns the loss of a shard in `f32`; the model computes in `dtype`.
fn loss(model: &Mlp, batch: &Batch, (shard, dtype): (usize, FloatDType)) -> Tensor<1> {
    let rows = batch.inputs.dims()[0] / SHARDS;
    let [x, y] = [&batch.inputs, &batch.targets].map(|of| of.clone().narrow(0, shard * rows, rows));
    (model.forward(x.cast(dtype)).cast(FloatDType::F32) - y).powi_scalar(2).mean()
}

fn main() -> Result<()> {
    ranks::main(rank)
}
