//! Look-ups of a forward pass in tables whose gradients stay sparse.

use crate::params::require_parameters;
use crate::{Candle, Error};
use binade_core::ops::{Embedding, SparseEmbedding};
use binade_core::{Gradient, Named, SparseGradient, SparseGrads};
use candle_core::backprop::GradStore;
use candle_core::{DType, Tensor, TensorId, Var};
use std::sync::{Mutex, PoisonError};

/// Look-ups of one forward pass in tables whose gradients stay sparse: torch's `Embedding(…, sparse=True)`.
///
/// candle's own gradient of a table has every row. Here the rows that are looked up are a leaf of candle's graph, and the step gets
/// their gradients alone: time and memory grow with the number of indices, and not with the table.
///
/// * A step takes them where its rule has a step of rows: SGD without momentum, Adagrad and
///   [`UpdateRule::sparse_adam`](binade_master_weights::UpdateRule::sparse_adam), all without weight decay. Others refuse the parameter by
///   name. [`Wrapped`](crate::Wrapped) makes them whole, since candle's optimizers take no others.
/// * Look-ups of one table add up. Gradients of a row are added in `f32` and rounded once to the table's type, before the check: an
///   overflow that only their sum has is found at its element of the table.
/// * A table that has other uses too, as the weight of a last layer, gets a whole gradient, with that of the look-ups added.
///
/// # Examples
///
/// A step takes two rows of a table of a million:
///
/// ```
/// use binade::prelude::*;
/// use binade_candle::{Candle, SparseLookups, named};
/// use candle_core::{DType::F32, Device, Tensor, Var};
///
/// let table = Var::zeros((1_000_000, 2), F32, &Device::Cpu)?;
/// let params = named([("words".to_owned(), table.clone())]);
/// let rule = UpdateRule::sparse_adam(0.5);
/// let mut optimizer = MasterOptimizer::new(Candle, params, OptimizerConfig::new(rule)?)?;
/// let mut scaler = Scaler::new(Candle, LossScale::dynamic())?;
///
/// let lookups = SparseLookups::default();
/// let words = lookups.embedding(&optimizer.params[0].value, &Tensor::new(&[7_u32, 3, 7], &Device::Cpu)?)?;
/// let loss = words.sum_all()?;
/// let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &optimizer.params))?;
/// let step = grads.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;
/// assert!(scaler.update(step)?.resolve()?.is_applied());
///
/// let rows = table.narrow(0, 2, 2)?.to_vec2::<f32>()?;
/// assert!(rows[0] == [0.0, 0.0] && rows[1].iter().all(|x| (x + 0.5).abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct SparseLookups(Mutex<Vec<Lookup>>);

/// Rows of a table as a leaf, with the indices that they were looked up by.
#[derive(Debug)]
struct Lookup {
    table: TensorId,
    rows: Var,
    indices: Tensor,
}

impl SparseLookups {
    /// Returns row `i` of `table`, a `Var` of `[V, D]`, for each `i` of `indices`, which are integers of any shape: D is appended to it. The
    /// rows have the table's type; cast them to compute in another.
    ///
    /// # Errors
    ///
    /// If `table` is no `Var`, as a cast of one is; if the indices are no integers; candle's, and on the CPU if an index is no row.
    pub fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        if !table.is_variable() {
            return Err(Error::TableIsNoVar);
        }
        if !indices.dtype().is_int() {
            let (msg, got) = ("indices are integers", indices.dtype());
            return Err(
                candle_core::Error::UnexpectedDType { msg, expected: DType::I64, got }.into()
            );
        }
        let indices = indices.to_dtype(DType::I64)?;
        let rows = Var::from_tensor(&Candle.embedding(&table.detach(), &indices)?)?;
        let output = rows.as_tensor().clone();
        let lookup = Lookup { table: table.id(), rows, indices: indices.flatten_all()? };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lookup);
        Ok(output)
    }

    /// Runs candle's backward and returns the gradients of `params`, as [`backward`](crate::backward) does, but sparse for a table that
    /// these look-ups alone have used.
    ///
    /// # Errors
    ///
    /// candle's; if there are no parameters; if a table that was looked up is none of them. Elsewhere than on the CPU, also if an index
    /// was no row.
    pub fn backward(
        &self,
        loss: &Tensor,
        params: &[Named<Tensor>],
    ) -> Result<SparseGrads<Tensor>, Error> {
        require_parameters(params)?;
        let store = loss.backward()?;
        let lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |it: &Lookup| params.iter().any(|param| param.value.id() == it.table);
        if !lookups.iter().all(is_known) {
            return Err(Error::StrangeTable);
        }
        let one = |Named { name, value }: &Named<Tensor>| {
            let own = lookups.iter().filter(|lookup| lookup.table == value.id());
            let own = own.filter_map(|lookup| Some((store.get(&lookup.rows)?, &lookup.indices)));
            Ok(Named::new(name.clone(), gradient(value, &store, &own.collect::<Vec<_>>())?))
        };
        Ok(SparseGrads(params.iter().map(one).collect::<Result<_, Error>>()?))
    }
}

/// Returns the gradient of a table from the gradients of its look-ups, and of its other uses.
fn gradient(
    table: &Tensor,
    store: &GradStore,
    lookups: &[(&Tensor, &Tensor)],
) -> Result<Option<Gradient<Tensor>>, Error> {
    let whole = store.get(table);
    if lookups.is_empty() {
        return Ok(whole.cloned().map(Gradient::Dense));
    }
    // Sums of several look-ups are rounded once too.
    let wide = lookups.iter().map(|(grad, _)| grad.to_dtype(DType::F32));
    let wide = wide.collect::<candle_core::Result<Vec<_>>>()?;
    let lookups = wide.iter().zip(lookups.iter().map(|(_, indices)| *indices)).collect::<Vec<_>>();
    let SparseGradient { values, rows } =
        Candle.sparse_embedding_backward(&lookups, table.dim(0)?)?;
    let Some(whole) = whole else {
        let values = values.to_dtype(table.dtype())?;
        return Ok(Some(Gradient::Sparse(SparseGradient { values, rows })));
    };
    let sum = whole.to_dtype(DType::F32)?.index_add(&rows.indices, &values, 0)?;
    Ok(Some(Gradient::Dense(sum.to_dtype(table.dtype())?)))
}
