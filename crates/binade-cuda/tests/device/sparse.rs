//! Steps by sparse gradients: what they read, launch, and take of memory, and their capture.

use crate::support::{
    Device, Grads, Result, captured, noise, own, step_with, told, values, vector,
};
use binade_core::ops::{Download, SparseEmbedding, Upload};
use binade_core::{DType, ErrorKind, Gradient, Named, SparseGrads};
use binade_cpu::Cpu;
use binade_cuda::{Cuda, Error, Gradients, Masters, Scale, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState, ScaleStore};
use binade_master_weights::{MasterOptimizer, MasterWeights, OptimizerConfig, UpdateRule};

crate::tests![
    a_step_of_rows_reads_nothing_and_takes_the_same_memory_and_launches_for_any_table,
    a_captured_step_of_rows_is_the_uncaptured_one,
    the_norm_of_all_gradients_takes_in_the_rows_of_a_table,
    several_lookups_of_one_table_are_added,
    a_saved_sum_is_sparse_again,
    indices_of_another_type_are_a_mismatch,
];

const WIDTH: usize = 6;

/// Table of so many rows, trained by look-ups.
struct Table {
    cuda: Cuda,
    params: Vec<Named<Tensor>>,
    masters: Masters,
    lookups: Vec<(Tensor, Tensor)>,
    scale: Scale,
}

impl Table {
    fn new(rows: usize, lookups: &[&[i64]]) -> Result<Self> {
        let cuda = own();
        let values = vec![0.5; rows * WIDTH];
        let mut params =
            vec![Named::new("table", cuda.upload(&values, &[rows, WIDTH], DType::F16)?)];
        let config = OptimizerConfig::new(UpdateRule::sparse_adam(0.25))?;
        let masters = cuda.masters(&mut params, &config)?;
        let look_up = |indices: &&[i64]| {
            let grad = vec![2.0; indices.len() * WIDTH];
            let grad = cuda.upload(&grad, &[indices.len(), WIDTH], DType::F16)?;
            Ok((grad, cuda.upload_i64(indices, &[indices.len()])?))
        };
        let lookups = lookups.iter().map(look_up).collect::<Result<_, Error>>()?;
        let scale = cuda.upload_state(ScaleState::from_exponent(1))?;
        Ok(Self { cuda, params, masters, lookups, scale })
    }

    fn grads(&self) -> Result<Gradients, Error> {
        let rows = self.params[0].value.shape()[0];
        let lookups: Vec<_> = self.lookups.iter().map(|(grad, indices)| (grad, indices)).collect();
        let gradient = self.cuda.sparse_embedding_backward(&lookups, rows)?;
        Ok(SparseGrads(vec![Named::new("table", Some(Gradient::Sparse(gradient)))]).into())
    }

    fn step(&mut self) -> Result<(), Error> {
        let mut grads = self.grads()?;
        let mut found = self.cuda.unscale(&mut grads, &self.scale)?;
        self.cuda.clip_norm(&mut grads, Norm::L2, 1e3, &mut found)?;
        self.cuda.step(&mut self.params, &mut self.masters, grads, &found)
    }

    fn values(&self) -> Result<Vec<f32>, Error> {
        self.cuda.download(&self.params[0].value)
    }
}

/// Returns launches, waits, and the most bytes beside what is kept, of a third step.
fn counts(rows: usize) -> Result<[u64; 3]> {
    let mut table = Table::new(rows, &[&[3, 1, 3, 7]])?;
    table.step()?;
    table.step()?;
    table.cuda.reset_peak_memory();
    let (before, kept) = (table.cuda.counters(), table.cuda.memory_use().bytes);
    table.step()?;
    let (after, peak) = (table.cuda.counters(), table.cuda.memory_use().peak_bytes);
    let bytes = u64::try_from(peak - kept)?;
    Ok([after.launches - before.launches, after.syncs - before.syncs, bytes])
}

fn a_step_of_rows_reads_nothing_and_takes_the_same_memory_and_launches_for_any_table() -> Result {
    // Both have indices of two bytes, which take two passes of the sort.
    let [small, large] = [counts(300)?, counts(60_000)?];
    assert_eq!(small, large);
    assert_eq!(large[1], 0);
    // The gradient of the larger table has 720,000 bytes, and its moments 1.4 MB each.
    assert!(large[2] < 40_000, "{large:?}");
    Ok(())
}

fn a_captured_step_of_rows_is_the_uncaptured_one() -> Result {
    let lookups: &[&[i64]] = &[&[3, 1, 3, 7]];
    let (mut ordinary, mut replayed) = (Table::new(40, lookups)?, Table::new(40, lookups)?);
    let cuda = replayed.cuda.clone();
    let graph = captured(&cuda, || replayed.step())?;
    for _ in 0..3 {
        graph.replay()?;
    }
    for _ in 0..5 {
        ordinary.step()?;
    }
    let (got, wanted) = (replayed.values()?, ordinary.values()?);
    assert_eq!(got, wanted);
    let moved = |row: usize| got[row * WIDTH..(row + 1) * WIDTH].iter().all(|x| *x < -0.5);
    assert_eq!((0..40).filter(|row| moved(*row)).collect::<Vec<_>>(), [1, 3, 7]);
    Ok(())
}

/// Returns a table and a weight after steps by gradients of which those of the table have this size. The weight is moved by LAMB, which
/// clips by the norm of all.
fn beside_a_weight<D>(device: &D, size: f32) -> Result<Vec<Vec<f32>>>
where
    D: Device + SparseEmbedding,
    Grads<D>: From<SparseGrads<D::Tensor>>,
{
    let table = device.upload(&[0.5; 40 * WIDTH], &[40, WIDTH], DType::F32).map_err(told)?;
    let weight = vector(device, &noise(1, 300), DType::F32);
    let params = vec![Named::new("table", table), Named::new("weight", weight)];
    let config = OptimizerConfig::new(UpdateRule::lamb(0.01))?;
    let config = config.with_group(["table"], UpdateRule::sgd(0.25))?;
    let mut optimizer = MasterOptimizer::new(device.clone(), params, config).map_err(told)?;
    for seed in 2..5 {
        let looked: Vec<f32> = noise(seed, 4 * WIDTH).iter().map(|x| size * x).collect();
        let looked = device.upload(&looked, &[4, WIDTH], DType::F32).map_err(told)?;
        let indices = device.upload_i64(&[3, 1, 3, 7], &[4]).map_err(told)?;
        let rows = device.sparse_embedding_backward(&[(&looked, &indices)], 40).map_err(told)?;
        let whole = vector(device, &noise(10 + seed, 300), DType::F32);
        let grads = SparseGrads(vec![
            Named::new("table", Some(Gradient::Sparse(rows))),
            Named::new("weight", Some(Gradient::Dense(whole))),
        ]);
        step_with(device, &mut optimizer, grads.into(), 0)?;
    }
    values(&optimizer)
}

fn the_norm_of_all_gradients_takes_in_the_rows_of_a_table() -> Result {
    let cuda = own();
    let got = beside_a_weight(&cuda, 64.0)?;
    assert_eq!(got, beside_a_weight(&Cpu, 64.0)?);
    assert_ne!(got[1], beside_a_weight(&cuda, 0.0)?[1]);
    Ok(())
}

fn several_lookups_of_one_table_are_added() -> Result {
    let table = Table::new(40, &[&[3, 1], &[3], &[1, 39, 3]])?;
    let mut grads = table.grads()?;
    let scale = table.cuda.upload_state(ScaleState::from_exponent(0))?;
    table.cuda.unscale(&mut grads, &scale)?;
    let whole = binade_core::GradSet::materialise(&table.cuda, grads)?.remove(0).value;
    let whole = table.cuda.download(&whole.ok_or("no gradient")?)?;
    let firsts: Vec<f32> = whole.iter().copied().step_by(WIDTH).collect();
    let mut wanted = vec![0.0; 40];
    (wanted[1], wanted[3], wanted[39]) = (4.0, 6.0, 2.0);
    assert_eq!(firsts, wanted);
    Ok(())
}

fn a_saved_sum_is_sparse_again() -> Result {
    let table = Table::new(40, &[&[3, 1, 3, 7]])?;
    let cuda = &table.cuda;
    let mut grads = table.grads()?;
    let found = cuda.unscale(&mut grads, &table.scale)?;
    let sum = cuda.accumulate(None, grads, &found)?;
    let (whole, rows) = (cuda.save_grads(&sum)?, cuda.save_rows(&sum)?);
    assert_eq!(rows, [Named::new("table", vec![1, 3, 7])]);
    let loaded = cuda.load_rows(cuda.load_grads(&table.params, &whole)?, &rows)?;
    assert_eq!((cuda.save_grads(&loaded)?, cuda.save_rows(&loaded)?), (whole, rows));
    assert_eq!(loaded.as_stored()[0].value.as_ref().map(Tensor::shape), Some(&[3, WIDTH][..]));
    Ok(())
}

fn indices_of_another_type_are_a_mismatch() -> Result {
    let cuda = own();
    let floats = cuda.upload(&[1.0], &[1], DType::F32)?;
    let error = cuda.unique_rows(&[&floats], 4).err().ok_or("taken")?;
    assert_eq!(binade_core::Error::kind(&error), ErrorKind::Mismatch, "{error}");
    Ok(())
}
