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
/// candle's own gradient of a table is dense. Here the looked-up rows are a leaf of candle's graph, and the step gets the gradients of these rows
/// only. Time and memory grow with the number of indices, not with the table.
///
/// * The rules that step single rows take sparse gradients: SGD without momentum, Adagrad and
///   [`UpdateRule::sparse_adam`](binade_master_weights::UpdateRule::sparse_adam), all without weight decay. Other rules refuse the parameter by name.
///   [`Wrapped`](crate::Wrapped) makes sparse gradients dense, since candle's optimizers take no others.
/// * Look-ups of one table add up. Gradients of a row are added in `f32` and rounded once to the table's type before the check. So an overflow of the
///   sum alone is found too, at its element of the table.
/// * A table with other uses, such as the weight of a last layer, gets a dense gradient that includes its look-ups.
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

/// Looked-up rows of a table as a leaf, with their indices.
#[derive(Debug)]
struct Lookup {
    table: TensorId,
    rows: Var,
    indices: Tensor,
}

impl SparseLookups {
    /// Returns row `i` of `table`, a `Var` of shape `[V, D]`, for each `i` of `indices`, integers of any shape. The result has the shape of `indices`
    /// with D appended, and the table's type; cast it to compute in another type.
    ///
    /// # Errors
    ///
    /// If `table` is no `Var` (a cast of a `Var` is none) or the indices are no integers; on the CPU, if an index is no row; candle's errors.
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

    /// Runs candle's backward pass and returns the gradients of `params`, as [`backward`](crate::backward) does. The gradient of a table with no
    /// other use than these look-ups is sparse.
    ///
    /// # Errors
    ///
    /// If there are no parameters, or a looked-up table is none of them; on devices other than the CPU, if an index was no row; candle's errors.
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

/// Returns the gradient of a table from the gradients of its look-ups and of its other uses.
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
