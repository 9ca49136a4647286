//! Look-ups of a forward pass in tables whose gradients stay sparse.

use crate::{BurnTensor, Error, TensorError, named_gradients};
use binade_core::{AmpTensor, Named, NamedGrads};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Gradients, Int, Tensor};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Look-ups of one forward pass in tables whose gradients stay sparse: torch's `Embedding(…, sparse=True)`.
///
/// burn's own gradient of a table is dense, and burn's optimizers step every row. Here the table is outside of the module, in
/// [`BurnOptimizer::tables`](crate::BurnOptimizer::tables). The looked-up rows are a leaf of burn's graph, and the step gets the gradients of these
/// rows only. Time and memory grow with the number of indices, not with the table.
///
/// * The tables' rule must be able to step single rows: SGD without momentum, Adagrad or
///   [`UpdateRule::sparse_adam`](binade_master_weights::UpdateRule::sparse_adam), all without weight decay. Other rules refuse the table by name.
/// * Look-ups of one table add up. Gradients of a row are added in `f32` and rounded once to the table's type before the check. So an overflow of the
///   sum alone is found too, at its element of the table.
/// * Create a `SparseLookups` for each forward pass, in evaluation too, and drop it afterwards: it keeps the rows of every look-up.
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
/// let tables = &trained.tables.as_ref().ok_or("no tables")?.params;
/// let rows = lookups.embedding(&tables[0], Tensor::from_ints([[7, 3, 7]], &device))?;
/// let loss = BurnTensor::from(trained.module.forward(rows).sum());
/// let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &trained.module, tables))?;
/// let step = grads.unscale()?.clip_norm(1.0)?.step(&mut trained)?;
/// assert!(scaler.update(step)?.resolve()?.is_applied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct SparseLookups(Mutex<Vec<Lookup>>);

/// Looked-up rows of a table as a leaf, with their indices.
#[derive(Debug)]
struct Lookup {
    table: Arc<str>,
    shape: Vec<usize>,
    rows: Tensor<2>,
    indices: Vec<usize>,
}

impl Lookup {
    fn is_of(&self, table: &Named<BurnTensor>) -> bool {
        self.table == table.name && self.shape == table.value.shape()
    }
}

impl SparseLookups {
    /// Returns row `i` of `table`, [V, D], for each `i` of `indices`, [N, L], as burn's `Embedding` does. The result, [N, L, D], has the table's
    /// type; cast it to compute in another type. The indices are read to the host.
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
            why: match rows.checked_sub(1) {
                Some(last) => format!("{index} was looked up: give indices from 0 to {last}"),
                None => format!("{index} was looked up, and it has no rows"),
            },
        };
        let index = |index: i64| {
            usize::try_from(index).ok().filter(|row| *row < rows).ok_or_else(|| wrong(index))
        };
        let indices =
            indices.into_data().iter::<i64>().map(index).collect::<Result<Vec<_>, _>>()?;
        let rows = value.select(&indices).autodiff().require_grad();
        let output = rows.clone().reshape([count, len, width]);
        let (table, shape) = (name.clone(), value.shape().to_vec());
        let lookup = Lookup { table, shape, rows, indices };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lookup);
        Ok(output)
    }

    /// Runs burn's backward pass from this loss. Returns the gradients of `module`'s parameters by path, as [`BurnTensor::backward`] does, followed
    /// by the sparse gradients of `tables`. A table without look-ups has no gradient.
    ///
    /// A table gets gradients from its look-ups only. Keep a table with other uses, such as the weight of a last layer, in the module.
    ///
    /// # Errors
    ///
    /// If the loss depends on no parameter that requires a gradient, or a looked-up table is none of `tables`.
    pub fn backward<M: Module>(
        &self,
        loss: &BurnTensor,
        module: &M,
        tables: &[Named<BurnTensor>],
    ) -> Result<NamedGrads<BurnTensor>, Error> {
        if !loss.flat().is_tracked() {
            return Err(TensorError::Untracked.into());
        }
        self.require(tables)?;
        let mut grads = loss.flat().backward();
        let tables = self.gradients(&mut grads, tables)?;
        let mut named = named_gradients(module, GradientsParams::from_grads(grads, module))?;
        named.extend(tables);
        Ok(named)
    }

    /// Refuses a looked-up table that is none of `tables`.
    fn require(&self, tables: &[Named<BurnTensor>]) -> Result<(), Error> {
        let lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_strange = |it: &&Lookup| !tables.iter().any(|table| it.is_of(table));
        if let Some(Lookup { table, shape, .. }) = lookups.iter().find(is_strange) {
            let why = format!(
                "a table of the shape {shape:?} was looked up, and none of the tables has this name and shape: look up those of \
                 `BurnOptimizer::tables`, and give them to `backward`"
            );
            return Err(TensorError::Parameter { path: table.to_string(), why }.into());
        }
        Ok(())
    }

    /// Takes the gradients of the tables out of burn's.
    fn gradients(
        &self,
        grads: &mut Gradients,
        tables: &[Named<BurnTensor>],
    ) -> Result<NamedGrads<BurnTensor>, Error> {
        let lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |table: &Named<BurnTensor>| {
            let mut sum: Option<(Sum, Device)> = None;
            for lookup in lookups.iter().filter(|lookup| lookup.is_of(table)) {
                if let Some(grad) = lookup.rows.grad_remove(grads) {
                    grad.device().sync().map_err(TensorError::from)?;
                    let grad = BurnTensor::from(grad).floats();
                    let own = || (Sum::new(), lookup.rows.device().inner());
                    add(&mut sum.get_or_insert_with(own).0, &lookup.indices, &grad);
                }
            }
            let value = sum.map(|(sum, device)| {
                let (rows, values): (Vec<_>, Vec<_>) = sum.into_iter().unzip();
                let place = (table.value.shape().to_vec(), device);
                BurnTensor::sparse(values.concat(), rows, place)
                    .cast(AmpTensor::dtype(&table.value))
            });
            Ok(Named::new(table.name.clone(), value.transpose()?))
        };
        tables.iter().map(one).collect()
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
