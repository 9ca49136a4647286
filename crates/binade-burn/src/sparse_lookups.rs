//! Look-ups of a forward pass in tables whose gradients stay sparse.

use crate::{BurnTensor, Error, TensorError, named_gradients};
use binade_core::{AmpTensor, DType, Named, NamedGrads};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Int, Shape, Tensor};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Look-ups of one forward pass in tables whose gradients stay sparse: torch's `Embedding(…, sparse=True)`.
///
/// burn's own gradient of a table has every row, and so has a step of burn's optimizers. Here the table is outside of the module, in
/// [`BurnOptimizer::tables`](crate::BurnOptimizer::tables). The rows that are looked up are a leaf of burn's graph, and the step gets their
/// gradients alone: time and memory grow with the number of indices, and not with the table.
///
/// * The tables' rule needs a step of rows: SGD without momentum, Adagrad and
///   [`UpdateRule::sparse_adam`](binade_master_weights::UpdateRule::sparse_adam), all without weight decay. Others refuse the table by name.
/// * Look-ups of one table add up. Gradients of a row are added in `f32` and rounded once to the table's type, before the check: an
///   overflow that only their sum has is found at its element of the table.
///
/// # Examples
///
/// A step takes two rows of a table:
///
/// ```
/// use binade_burn::{Burn, BurnOptimizer, BurnTensor, SparseLookups};
/// use binade_core::Named;
/// use binade_grad_scaler::{LossScale, Scaler};
/// use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
/// use burn::{nn::LinearConfig, optim::AdamWConfig, tensor::{Device, Tensor}};
///
/// let device = Device::flex();
/// let words = Named::new("words", BurnTensor::from(Tensor::<2>::ones([1000, 4], &device)));
/// let rule = UpdateRule::sparse_adam(0.5);
/// let tables = MasterOptimizer::new(Burn, vec![words], OptimizerConfig::new(rule)?)?;
/// let module = LinearConfig::new(4, 1).init(&device.clone().autodiff());
/// let mut trained = BurnOptimizer::new(module, AdamWConfig::new().init(), 1e-2).with_tables(tables);
/// let mut scaler = Scaler::new(Burn, LossScale::dynamic())?;
///
/// let lookups = SparseLookups::default();
/// let table = trained.tables.as_ref().and_then(|tables| tables.params.first()).ok_or("no table")?;
/// let rows = lookups.embedding(table, Tensor::from_ints([[7, 3, 7]], &device))?;
/// let loss = BurnTensor::from(trained.module.forward(rows).sum());
/// let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &trained.module))?;
/// let step = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
/// assert!(scaler.update(step)?.resolve()?.is_applied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct SparseLookups(Mutex<Vec<Lookup>>);

/// Rows of a table as a leaf, with the indices that they were looked up by.
#[derive(Debug)]
struct Lookup {
    table: Arc<str>,
    dtype: DType,
    shape: Vec<usize>,
    rows: Tensor<2>,
    indices: Vec<usize>,
}

impl SparseLookups {
    /// Returns row `i` of `table`, [V, D], for each `i` of `indices`, [N, L], as burn's `Embedding` does: [N, L, D]. The rows have the
    /// table's type; cast them to compute in another. The indices are read to the host.
    ///
    /// # Errors
    ///
    /// If `table` is no matrix, or an index is no row of it.
    pub fn embedding(
        &self,
        table: &Named<BurnTensor>,
        indices: Tensor<2, Int>,
    ) -> Result<Tensor<3>, Error> {
        let Named { name, value } = table;
        let &[rows, width] = value.shape() else {
            let (found, shape) = (value.shape().len(), value.shape().to_vec());
            return Err(TensorError::Rank { found, asked: 2, shape }.into());
        };
        let [count, len] = indices.dims();
        let wrong = |index: i64| TensorError::Parameter {
            path: name.to_string(),
            why: format!("{index} was looked up, and it has {rows} rows: give indices below that"),
        };
        let index = |index: i64| {
            usize::try_from(index).ok().filter(|row| *row < rows).ok_or_else(|| wrong(index))
        };
        let indices =
            indices.into_data().iter::<i64>().map(index).collect::<Result<Vec<_>, _>>()?;
        let rows = value.select(&indices).autodiff().require_grad();
        let output = rows.clone().reshape([count, len, width]);
        let (table, dtype, shape) = (name.clone(), AmpTensor::dtype(value), value.shape().to_vec());
        let lookup = Lookup { table, dtype, shape, rows, indices };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lookup);
        Ok(output)
    }

    /// Runs burn's backward pass from this loss, and returns the gradients of `module`'s parameters by path, as
    /// [`BurnTensor::backward`] does, and behind them those of the tables that were looked up, as rows.
    ///
    /// # Errors
    ///
    /// If the loss depends on no parameter that requires a gradient.
    pub fn backward<M: Module>(
        &self,
        loss: &BurnTensor,
        module: &M,
    ) -> Result<NamedGrads<BurnTensor>, Error> {
        if !loss.flat().is_tracked() {
            return Err(TensorError::Untracked.into());
        }
        let mut grads = loss.flat().backward();
        let tables = self.tables(&mut grads)?;
        let mut named = named_gradients(module, GradientsParams::from_grads(grads, module))?;
        named.extend(tables);
        Ok(named)
    }

    /// Takes the gradients of the tables out of burn's.
    fn tables(&self, grads: &mut Gradients) -> Result<NamedGrads<BurnTensor>, Error> {
        let lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tables: BTreeMap<&Arc<str>, (&Lookup, Option<Sum>)> = BTreeMap::new();
        for lookup in lookups.iter() {
            let (_, sum) = tables.entry(&lookup.table).or_insert((lookup, None));
            if let Some(grad) = lookup.rows.grad_remove(grads) {
                grad.device().sync().map_err(TensorError::from)?;
                let grad = BurnTensor::from(grad).floats();
                add(sum.get_or_insert_default(), &lookup.indices, &grad);
            }
        }
        let table = |(name, (lookup, sum)): (&Arc<str>, (&Lookup, Option<Sum>))| {
            let value = sum.map(|sum| {
                let (rows, values): (Vec<_>, Vec<_>) = sum.into_iter().unzip();
                let place = (Shape::from(lookup.shape.clone()), lookup.rows.device().inner());
                BurnTensor::sparse(values.concat(), rows, place).cast(lookup.dtype)
            });
            Ok(Named::new(name.clone(), value.transpose()?))
        };
        tables.into_iter().map(table).collect()
    }
}

/// Sums by row, in `f32`.
type Sum = BTreeMap<usize, Vec<f32>>;

/// Adds the gradients of a look-up, in the order of its indices.
fn add(sum: &mut Sum, indices: &[usize], grad: &[f32]) {
    let width = grad.len() / indices.len().max(1);
    for (row, terms) in indices.iter().zip(grad.chunks(width.max(1))) {
        let sums = sum.entry(*row).or_insert_with(|| vec![0.0; width]);
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}
