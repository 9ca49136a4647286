//! Look-ups with a sparse gradient: only the rows of a table that a step has looked up.

use crate::{
    Device, TapeError, Var,
    backward::{collect, differentiate_each, one},
    error::Failed,
    ops::Outcome,
    record::{Lookup, LookupRules, Lookups, Node, Origin, Registered},
};
use binade_core::ops::{Embedding, SparseEmbedding};
use binade_core::{DType, Gradient, Named, Op, SparseGradient, SparseGrads};
use std::{collections::HashMap, sync::Arc};

impl<D: Device + SparseEmbedding> Var<D> {
    /// Returns the rows of this table [V, D] that i64 `indices` name, as [`embedding`](Self::embedding) does, without a cast. Its gradient
    /// may stay sparse: torch's `embedding(…, sparse=True)`.
    ///
    /// [`backward_sparse`](Self::backward_sparse) returns a gradient of only the looked-up rows, if all uses of the table are such look-ups. Any
    /// other backward pass gives the whole gradient.
    ///
    /// # Errors
    ///
    /// If the operands do not fit, or the device fails.
    ///
    /// # Examples
    ///
    /// The example looks up two rows of a table of a million:
    ///
    /// ```
    /// use binade_autocast::Region;
    /// use binade_core::{DType, FoundInf, Named, ops::{Fill, Upload}};
    /// use binade_cpu::{Cpu, Gradients};
    /// use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};
    /// use binade_tape::Tape;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let table = Named::new("table", Cpu.fill(0.0, &[1_000_000, 2], DType::F32)?);
    /// let tape = Tape::new(Cpu, &Region::bf16());
    /// let words = tape.parameter(&table).embedding_sparse(&Cpu.upload_i64(&[7, 3, 7], &[3])?)?;
    /// let grads: Gradients = words.sum()?.backward_sparse()?;
    /// let mut params = vec![table];
    /// let mut masters = Cpu.masters(&mut params, &OptimizerConfig::new(UpdateRule::sparse_adam(0.5))?)?;
    /// Cpu.step(&mut params, &mut masters, grads, &FoundInf::default())?;
    /// let table = params[0].value.to_f32();
    /// assert!(table[4..6] == [0.0, 0.0] && table[6..8].iter().all(|x| (x + 0.5).abs() < 1e-6));
    /// # Ok(())
    /// # }
    /// ```
    pub fn embedding_sparse(&self, indices: &D::Tensor) -> Outcome<D> {
        let [table] = self.seen(Op::EMBEDDING, [self])?;
        let output = self.tape().device().embedding(&table.tensor, indices)?;
        let record = self.tape().record();
        let mut output = record.value(output);
        if let Some(node) = table.node {
            let indices_value = record.value(indices.clone());
            record.save(&indices_value);
            let (rows, indices) = (self.shape()[0], indices.clone());
            let (sparse, whole) = (sparse_gradient, Embedding::embedding_backward);
            let rules = LookupRules { rows, sparse, whole };
            let lookup = Lookup { table: node, indices, rules };
            output.node = Some(record.push(output.dtype(), Origin::Lookup(lookup)));
        }
        Ok(Self::new(self.tape().clone(), output))
    }
}

impl<D: Device> Var<D> {
    /// Returns the gradients of this scalar with respect to every parameter of the tape, as [`backward`](Self::backward) does. The gradient of a
    /// table that only [`embedding_sparse`](Self::embedding_sparse) has used is sparse.
    ///
    /// Gradients of a row that was looked up several times are added in f32 and rounded once, before anything checks them. With several
    /// look-ups of a 16-bit table the last bit may differ from [`backward`](Self::backward), which rounds the sum of each.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward).
    pub fn backward_sparse<G: From<SparseGrads<D::Tensor>>>(&self) -> Result<G, Failed<D>> {
        let parameters = self.tape().record().parameters()?;
        let nodes: Vec<usize> = parameters.iter().map(|(_, node)| *node).collect();
        let loss = self.value();
        let (device, last) = (self.tape().device(), loss.node.ok_or(TapeError::Detached)?);
        let record = self.tape().record().nodes(last);
        let mut sparse = SparseTables::of(&record, &nodes);
        let dense = collect::<D>(nodes.len(), |tell| {
            differentiate_each(loss, one(loss)?, &nodes, &mut sparse, tell)
        })?;
        let named = |((name, node), dense): (Registered, Option<D::Tensor>)| {
            let value = if let Some(dense) = dense {
                Some(Gradient::Dense(dense))
            } else {
                let dtype = record.get(node).map_or(DType::F32, |node| node.dtype);
                sparse.gradient(device, node, dtype)?.map(Gradient::Sparse)
            };
            Ok(Named { name, value })
        };
        let grads =
            parameters.into_iter().zip(dense).map(named).collect::<Result<_, Failed<D>>>()?;
        Ok(SparseGrads(grads).into())
    }
}

/// Returns the gradient of a table of `rows` rows from all of its look-ups.
fn sparse_gradient<D: Device + SparseEmbedding>(
    device: &D,
    lookups: Lookups<'_, D>,
    rows: usize,
) -> Result<SparseGradient<D::Tensor>, D::Error> {
    if let [(grad, indices)] = lookups {
        return device.sparse_embedding_backward(&[(grad, indices)], rows);
    }
    // Sums that are rounded once.
    let wide = lookups.iter().map(|(grad, _)| device.cast(grad, DType::F32));
    let wide = wide.collect::<Result<Vec<_>, _>>()?;
    let indices = lookups.iter().map(|(_, indices)| indices);
    device.sparse_embedding_backward(&wide.iter().zip(indices).collect::<Vec<_>>(), rows)
}

/// Tables whose gradients stay sparse in a backward pass, with their look-ups.
pub(crate) struct SparseTables<D: Device>(HashMap<usize, SparseTable<D>>);

/// Gradients of the look-ups in a table, each with its indices.
struct SparseTable<D: Device> {
    lookups: Vec<(D::Tensor, D::Tensor)>,
    rules: Option<LookupRules<D>>,
}

impl<D: Device> SparseTables<D> {
    /// Returns an empty set: every gradient is a whole one.
    pub(crate) fn none() -> Self {
        Self(HashMap::new())
    }

    /// Returns the leaves among `wanted` that only look-ups connect to the last node.
    fn of(nodes: &[Arc<Node<D>>], wanted: &[usize]) -> Self {
        let is_leaf = |node: &&usize| matches!(nodes.get(**node), Some(node) if matches!(node.origin, Origin::Leaf));
        let table = |node: &usize| (*node, SparseTable { lookups: Vec::new(), rules: None });
        let mut tables: HashMap<_, _> = wanted.iter().filter(is_leaf).map(table).collect();
        let mut leads = vec![false; nodes.len()];
        if let Some(loss) = leads.last_mut() {
            *loss = true;
        }
        for (index, node) in nodes.iter().enumerate().rev() {
            for operand in node.origin.operands().filter(|_| leads[index]).collect::<Vec<_>>() {
                leads[operand] = true;
                if !matches!(node.origin, Origin::Lookup(_)) {
                    tables.remove(&operand);
                }
            }
        }
        Self(tables)
    }

    /// Keeps the gradient of a look-up in one of these tables; returns any other gradient.
    pub(crate) fn keep(&mut self, lookup: &Lookup<D>, grad: D::Tensor) -> Option<D::Tensor> {
        let Some(table) = self.0.get_mut(&lookup.table) else { return Some(grad) };
        table.lookups.push((grad, lookup.indices.clone()));
        table.rules = Some(lookup.rules.clone());
        None
    }

    /// Returns the gradient of the table of this node, of this element type, if it was looked up.
    fn gradient(
        &self,
        device: &D,
        node: usize,
        dtype: DType,
    ) -> Result<Option<SparseGradient<D::Tensor>>, Failed<D>> {
        let Some(SparseTable { lookups, rules: Some(rules) }) = self.0.get(&node) else {
            return Ok(None);
        };
        // Restores the order of forward.
        let lookups: Vec<_> = lookups.iter().rev().cloned().collect();
        let SparseGradient { values, rows } = (rules.sparse)(device, &lookups, rules.rows)?;
        let values =
            if device.dtype(&values) == dtype { values } else { device.cast(&values, dtype)? };
        Ok(Some(SparseGradient { values, rows }))
    }
}

impl<D: Device> Lookup<D> {
    /// Returns the whole gradient of the table.
    pub(crate) fn whole(&self, device: &D, grad: &D::Tensor) -> Result<D::Tensor, D::Error> {
        (self.rules.whole)(device, grad, &self.indices, self.rules.rows)
    }
}
