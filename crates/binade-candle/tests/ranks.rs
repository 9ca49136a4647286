//! candle's tensors on ranks: with candle's own optimizer, and with Binade's masters.

use crate::frameworks::{Failed, Framework, LIMIT, Rank, Shard, framework_tests};
use crate::values;
use binade::prelude::*;
use binade_candle::{Candle, Error, Wrapped, backward, candle_dtype, named, params, var_builder};
use binade_ranks::{Group, Partition, RankOptimizer, Ranks, threads};
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::{Module, SGD, VarBuilder, VarMap};
use std::{thread, time::Duration};

/// Half `Var`s, and candle's SGD over their `f32` masters.
struct Vars {
    params: Vec<Named<Tensor>>,
    sgd: Option<Wrapped<SGD>>,
}

impl Vars {
    /// Returns the optimizer, created from the parameters' values at the first step.
    fn sgd(&mut self) -> Result<&mut Wrapped<SGD>, Error> {
        let new = || Wrapped::new(&self.params, 1.0);
        let sgd = self.sgd.take().map_or_else(new, Ok)?;
        Ok(self.sgd.insert(sgd))
    }

    fn loss(&self, shard: &Shard) -> candle_core::Result<Tensor> {
        // Sorted by name, `b` comes first.
        let [bias, weights] = [&self.params[0].value, &self.params[1].value];
        let slopes = Tensor::from_slice(&shard.slopes, shard.slopes.len(), &Device::Cpu)?;
        let product = (weights * slopes.to_dtype(weights.dtype())?)?;
        let loss = product.to_dtype(Type::F32)?.sum_all()?;
        if shard.has_bias { loss + (bias.to_dtype(Type::F32)? * 2.0)?.sum_all()? } else { Ok(loss) }
    }
}

impl Framework for Vars {
    type Device = Candle;

    fn device() -> Candle {
        Candle
    }

    fn new(weights: &[f32], bias: f32, dtype: DType) -> Self {
        let var = |values: &[f32]| {
            let wide = Tensor::from_slice(values, values.len(), &Device::Cpu).unwrap();
            Var::from_tensor(&wide.to_dtype(candle_dtype(dtype).unwrap()).unwrap()).unwrap()
        };
        let params = named([("w".to_owned(), var(weights)), ("b".to_owned(), var(&[bias]))]);
        Self { params, sgd: None }
    }

    fn broadcast(&mut self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        rank.broadcast(&mut self.params)
    }

    fn check_equal(&self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        rank.check_equal(&self.params)
    }

    fn step(
        &mut self,
        scaler: &mut Scaler<Rank<Self>>,
        shards: &[Shard],
    ) -> Result<Step, Failed<Self>> {
        let losses = shards.iter().map(|shard| Ok::<_, Error>(self.loss(shard)?));
        let losses = losses.collect::<Result<Vec<_>, _>>()?;
        let grads = scaler.scale(&losses)?.backward(|losses| {
            losses.iter().map(|loss| Ok(backward(loss, &self.params)?)).collect()
        })?;
        let step = grads.unscale()?.clip_norm(LIMIT)?.step(&mut RankOptimizer(self.sgd()?))?;
        scaler.update(step)?.resolve()
    }

    fn values(&self) -> Vec<f32> {
        let stored = |param: &Named<Tensor>| values(&param.value).unwrap();
        let masters = self.sgd.as_ref().map(|sgd| sgd.export_f32().unwrap());
        let mut all: Vec<Vec<f32>> = match masters {
            Some(masters) => masters.into_iter().map(|master| master.value).collect(),
            None => self.params.iter().map(stored).collect(),
        };
        all.reverse();
        all.concat()
    }
}

framework_tests!(Vars);

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Trains candle's layer by masters on a rank, and returns the masters and the layer's weights at the end.
fn masters<G: Group>(group: G, partition: Partition) -> Outcome<(Vec<Vec<f32>>, Vec<f32>)> {
    let (rank, ranks) = (u8::try_from(group.rank())?, u8::try_from(group.ranks())?);
    let shards: Vec<u8> = (0..4).filter(|shard| shard * ranks / 4 == rank).collect();
    let map = VarMap::new();
    candle_nn::linear(2, 1, VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu))?;
    for param in params(&map) {
        Var::from_tensor(&param.value)?
            .set(&(param.value.ones_like()? * (f64::from(rank) + 0.5))?)?;
    }
    let level = OptLevel::O2.with(DType::BF16);
    let mut amp = initialize(
        Ranks::new(Candle, group).with_partition(partition),
        Model::new(params(&map)),
        UpdateRule::adamw(0.01),
        level,
    )?;
    let layer = candle_nn::linear(2, 1, var_builder(&amp.optimizer.params))?;
    for step in 0..5_u8 {
        let loss = |shard: &u8| -> Result<Tensor, Error> {
            let x = [f32::from(step), f32::from(*shard) - 1.0];
            let x = Tensor::new(&[x], &Device::Cpu)?.to_dtype(Type::BF16)?;
            Ok(layer.forward(&x)?.to_dtype(Type::F32)?.sqr()?.mean_all()?)
        };
        let losses = shards.iter().map(loss).collect::<Result<Vec<_>, _>>()?;
        let grads = amp.scaler.scale(&losses)?.backward(|losses| {
            losses.iter().map(|loss| Ok(backward(loss, &amp.optimizer.params)?)).collect()
        })?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let masters = amp.optimizer.export_f32()?.into_iter().map(|master| master.value).collect();
    Ok((masters, values(layer.weight())?))
}

#[test]
fn masters_of_half_vars_begin_as_rank_0s_and_the_layer_sees_every_step() {
    let on = |ranks, partition| {
        let groups = threads(ranks, Duration::from_mins(1)).into_iter();
        let running: Vec<_> =
            groups.map(|group| thread::spawn(move || masters(group, partition))).collect();
        running.into_iter().map(|rank| rank.join().unwrap().unwrap()).collect::<Vec<_>>()
    };
    let one = on(1, Partition::Whole).remove(0);
    let (weight, layer) = (&one.0[1], &one.1);
    assert!(weight.iter().zip(layer).all(|(master, low)| (master - low).abs() < 2e-3), "{one:?}");
    assert!(weight.iter().all(|master| *master < 0.49), "{one:?}");
    for ranks in [2, 4] {
        for partition in [Partition::Whole, Partition::Slices] {
            assert_eq!(on(ranks, partition), vec![one.clone(); ranks], "{partition:?}");
        }
    }
}
