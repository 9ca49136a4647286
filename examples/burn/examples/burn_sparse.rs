//! Page of sparse gradients: a step looks up a thousand rows of a large table, and moves these alone.
//!
//! `--rows N` sets the size of the table. It prints the times of a step with burn's own `Embedding` and `Adam`, and by sparse gradients.

use binade_burn::{Burn, BurnOptimizer, BurnTensor, SparseLookups};
use binade_core::Named;
use binade_example_shared::ranks::Result;
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Initializer, Linear, LinearConfig};
use burn::optim::AdamConfig;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::time::{Duration, Instant};

pub(crate) const WIDTH: usize = 64;
const LOOKED_UP: u32 = 1000;
const STEPS: usize = 9;
const RATE: f64 = 0.01;

/// Layer behind a table, which is a part of the model or is not.
#[derive(Module, Debug)]
struct Net {
    words: Option<Embedding>,
    out: Linear,
}

/// Table after some steps, and the median of their times.
pub(crate) struct Trained {
    pub(crate) table: Vec<f32>,
    pub(crate) step: Duration,
}

/// Draws the outputs towards 1.
pub(crate) fn train(rows: u32, is_sparse: bool) -> Result<Trained> {
    let device = Device::flex().autodiff();
    let ones = Initializer::Ones;
    let out = LinearConfig::new(WIDTH, 1).with_initializer(ones.clone()).init(&device);
    let embedding = EmbeddingConfig::new(rows as usize, WIDTH).with_initializer(ones);
    let own = (!is_sparse).then(|| embedding.init(&device));
    // That of `sparse_adam`; burn's own is 1e-5.
    let adam = AdamConfig::new().with_epsilon(1e-8).init();
    let mut trained = BurnOptimizer::new(Net { words: own, out }, adam, RATE);
    if is_sparse {
        let table = Tensor::<2>::ones([rows as usize, WIDTH], &device.clone().inner());
        let tables = vec![Named::new("words", BurnTensor::from(table))];
        let config = OptimizerConfig::new(UpdateRule::sparse_adam(RATE))?;
        trained = trained.with_tables(MasterOptimizer::new(Burn, tables, config)?);
    }
    let mut scaler = Scaler::new(Burn, LossScale::dynamic())?;
    let words: Vec<i64> = words(rows).map(|row| row.cast_signed() as i64).collect();
    let words = TensorData::new(words, [1, LOOKED_UP as usize]);
    let words = Tensor::<2, Int>::from_data(words, &device);

    let mut times = Vec::new();
    for _ in 0..STEPS {
        let begin = Instant::now();
        let lookups = SparseLookups::default(); // of one forward pass
        let net = &trained.module;
        let found = match (&net.words, &trained.tables) {
            (Some(table), _) => table.forward(words.clone()),
            (None, Some(tables)) => lookups.embedding(&tables.params[0], words.clone())?,
            (None, None) => return Err("no table".into()),
        };
        let loss = BurnTensor::from((net.out.forward(found) - 1.0).powi_scalar(2).mean());

        let tables = trained.tables.as_ref().map_or(&[][..], |tables| &tables.params);
        let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, net, tables))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
        scaler.update(step)?.resolve()?.into_applied()?;
        times.push(begin.elapsed());
    }
    times.sort();
    let whole = trained.module.words.map(|words| BurnTensor::from(words.weight.base()));
    let table = whole.or_else(|| Some(trained.tables?.params.remove(0).value));
    let table = table.ok_or("no table")?.flat().into_data().try_to_vec::<f32>()?;
    Ok(Trained { table, step: times[STEPS / 2] })
}

/// Returns rows all over the table, by Knuth's multiplicative hash.
pub(crate) fn words(rows: u32) -> impl Iterator<Item = usize> {
    (0..LOOKED_UP).map(move |i| (i.wrapping_mul(2_654_435_769) % rows) as usize)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rows = match &args[..] {
        [] => 1 << 18,
        [flag, rows] if flag == "--rows" => rows.parse()?,
        _ => return Err("give `--rows N`, or nothing".into()),
    };
    println!("{LOOKED_UP} rows of {rows} × {WIDTH}");
    for (name, is_sparse) in [("burn's Embedding and Adam", false), ("sparse gradients", true)] {
        let Trained { table, step } = train(rows, is_sparse)?;
        let moved = table.chunks(WIDTH).filter(|row| row.iter().any(|x| *x != 1.0)).count();
        println!("{name}: {:.3} ms a step, {moved} rows moved", 1e3 * step.as_secs_f64());
    }
    Ok(())
}
