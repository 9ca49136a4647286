//! Trains on several ranks, each with its shards of every batch. Ranks are threads here; `binade_mpi::run` makes them processes.

use binade::core::HostDeviceError;
use binade::prelude::*;
use binade_example_shared::ranks::{self, Ended, Result, SHARDS};
use binade_example_your_own_tensor::mlp::{self, Device};
use binade_example_your_own_tensor::{digits, tensor::Mine};
use binade_ranks::{Group, Ranks};

/// Images of a shard.
const IMAGES: usize = 4;

/// Trains as one rank, for an epoch.
pub(crate) fn rank<G: Group>(group: G) -> Result<Ended> {
    let own = ranks::shards(&group);
    let device = Ranks::new(Device::new(), group);
    let [images, _] = digits::load()?;
    let model = Model::new(mlp::parameters());
    let level = OptLevel::O2.with(DType::F16);
    let mut amp = initialize(device.clone(), model, UpdateRule::adamw(0.004), level)?;

    let mut ended = Ended::default();
    for (step, batch) in images.batches(0, IMAGES).chunks_exact(SHARDS).enumerate() {
        let params = &amp.optimizer.params;
        let forward = |shard| mlp::forward(&amp.region, params, &batch[shard]);
        let passes = own.clone().map(forward).collect::<Result<Vec<_>>>()?;
        // The gradient of each loss with respect to itself is 1; scaling that is scaling the loss.
        let ones = own.clone().map(|shard| Mine::scalar(ranks::factor(step, shard)));
        let grads = amp.scaler.scale(&ones.collect::<Vec<_>>())?.backward(|scaled| {
            let backward = |(pass, scaled): (&mlp::Forward, &Mine)| {
                let grads = pass.backward(params, scaled.to_f32()[0]);
                Ok(grads.map_err(HostDeviceError::from)?)
            };
            passes.iter().zip(scaled).map(backward).collect()
        })?;
        let step = grads.unscale()?.clip_norm(10.0)?.step(&mut amp.optimizer)?;
        let losses: Vec<f32> = passes.iter().map(|pass| pass.loss.to_f32()[0]).collect();
        ended.record(&losses, amp.scaler.update(step)?.resolve()?)?;
    }
    device.check_equal(&amp.optimizer.params)?;
    for master in amp.optimizer.export_f32()? {
        ended.weights.extend(master.value.into_iter().map(f32::to_bits));
    }
    Ok(ended)
}

fn main() -> Result<()> {
    ranks::main(rank)
}
