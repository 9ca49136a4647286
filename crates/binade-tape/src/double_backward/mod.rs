//! Double backward: a recorded backward pass, whose gradients are values of the tape with a history.
//!
//! A node passes its gradient on by its [`RecordedRule`]. Where operations of the tape compute the same bits as the plain backward rule, the recorded
//! rule records those operations. Any other backward call is recorded as one node. The node's value is the plain rule's. Its gradient is that of the
//! call's formula, recomputed from the call's operands.

mod call;
mod formula;
mod losses;
mod norms;
mod pointwise;
mod products;
mod shapes;
mod windows;

use crate::{
    Device, TapeError, Var,
    backward::one,
    error::Failed,
    record::{Node, Origin, RecordedRule},
};
use binade_core::DType;
use binade_core::ops::Ops;
use std::{collections::HashMap, sync::Arc};

impl<D: Device + Ops> Var<D> {
    /// Returns the gradients of this scalar with respect to `inputs`, in their element types, as values of the tape that may be
    /// differentiated again: torch's `autograd.grad(…, create_graph=True)`. A gradient is `None` if no path leads to the input.
    ///
    /// The values are those of [`gradient`](Self::gradient), bit for bit on the CPU; a device may add up a product's terms in another order. The
    /// operations of backward run in the types that forward chose; no region casts them. Gradients carry the tape of `self`, so its region casts
    /// computations on them.
    ///
    /// # Errors
    ///
    /// [`TapeError::NoDoubleBackward`] if an operation between an input and this scalar cannot be recorded: attention, `embedding_sparse`,
    /// `group_norm`, `sync_batch_norm`, `recompute` and custom ones. If `self` is not a scalar or depends on no parameter, if an input is of another
    /// tape, or if the device fails.
    ///
    /// # Examples
    ///
    /// Derivatives of `x³`:
    ///
    /// ```
    /// use binade_autocast::Region;
    /// use binade_core::{DType, ops::Upload};
    /// use binade_cpu::Cpu;
    /// use binade_tape::Tape;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tape = Tape::new(Cpu, &Region::bf16().off());
    /// let x = tape.variable(Cpu.upload(&[5.0], &[], DType::F32)?);
    /// let first = x.mul(&x)?.mul(&x)?.grad(&[&x])?.remove(0).expect("a path");
    /// let second = first.gradient(&x)?.expect("a path");
    /// assert_eq!(*first.tensor().to_f32(), [75.0]); // 3·x²
    /// assert_eq!(*second.to_f32(), [30.0]); // 6·x
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "create_graph")]
    pub fn grad(&self, inputs: &[&Self]) -> Result<Vec<Option<Self>>, Failed<D>> {
        let record = self.tape().record();
        if !inputs.iter().all(|input| Arc::ptr_eq(record, input.tape().record())) {
            return Err(TapeError::TwoTapes { op: "grad" });
        }
        let start = self.tape().plain().constant(one(self.value())?);
        let wanted: Vec<_> = inputs.iter().map(|input| input.value().node).collect();
        let grads = record_backward(self, start, &wanted, 0)?.into_iter();
        grads.map(|grad| grad.map(|grad| grad.on(self.tape())).transpose()).collect()
    }
}

/// Returns the gradients with respect to each node of `wanted`, in its element type, from the gradient of `value`, by recorded
/// operations. The pass ends at nodes before `start`: it does not go through them.
fn record_backward<D: Device + Ops>(
    value: &Var<D>,
    grad: Var<D>,
    wanted: &[Option<usize>],
    start: usize,
) -> Result<Vec<Option<Var<D>>>, Failed<D>> {
    let last = value.value().node.ok_or(TapeError::Detached)?;
    let nodes = value.tape().record().nodes(last);
    let leads = leads_to(&nodes, wanted, start);
    let mut pass = RecordedPass { nodes, leads, totals: HashMap::new() };
    pass.arrive(last, grad)?;
    for index in (start..=last).rev() {
        pass.visit(index)?;
    }
    wanted.iter().map(|node| node.map_or(Ok(None), |node| pass.total(node))).collect()
}

/// Returns true for each node that a path leads to from one of `wanted`, among those from `start` on, and for `wanted` themselves.
fn leads_to<D: Device>(
    nodes: &[Arc<Node<D>>],
    wanted: &[Option<usize>],
    start: usize,
) -> Vec<bool> {
    let mut leads = vec![false; nodes.len()];
    for node in wanted.iter().flatten() {
        if let Some(place) = leads.get_mut(*node) {
            *place = true;
        }
    }
    for (index, node) in nodes.iter().enumerate().skip(start) {
        leads[index] |= node.origin.operands().any(|operand| leads[operand]);
    }
    leads
}

/// One backward pass by recorded operations.
struct RecordedPass<D: Device> {
    nodes: Vec<Arc<Node<D>>>,
    /// True for each node whose gradient is wanted, or is part of one that is.
    leads: Vec<bool>,
    /// Gradients that have arrived: a single one as it came, or the sum of several, in `f32` and not yet rounded.
    totals: HashMap<usize, Var<D>>,
}

impl<D: Device + Ops> RecordedPass<D> {
    /// Returns the gradient that has arrived at a node, rounded to the node's element type.
    fn total(&self, node: usize) -> Result<Option<Var<D>>, Failed<D>> {
        self.totals.get(&node).map(|total| total.cast(self.nodes[node].dtype)).transpose()
    }

    /// Passes a node's gradient on to its operands, after all later nodes have been visited.
    fn visit(&mut self, index: usize) -> Result<(), Failed<D>> {
        let node = self.nodes[index].clone();
        let leads = node.origin.operands().any(|operand| self.leads[operand]);
        let Some(sum) = self.totals.get(&index).filter(|_| leads).cloned() else { return Ok(()) };
        match &node.origin {
            Origin::Leaf => Ok(()),
            Origin::Cast(source) => self.arrive(*source, sum.cast(self.nodes[*source].dtype)?),
            Origin::Lookup(_) => Err(TapeError::NoDoubleBackward { op: "embedding_sparse" }),
            Origin::Op { op, parents, rule, recorded } => {
                let grad = sum.cast(node.dtype)?;
                let operands = parents.iter().enumerate();
                let operands = operands.filter_map(|(place, node)| Some((place, (*node)?)));
                let (places, nodes): (Vec<_>, Vec<_>) =
                    operands.filter(|(_, node)| self.leads[*node]).unzip();
                let grads = match recorded {
                    RecordedRule::Absent => Err(TapeError::NoDoubleBackward { op: op.name() }),
                    RecordedRule::Own(of) => places.iter().map(|place| of(&grad, *place)).collect(),
                    RecordedRule::Call(call, kept) => {
                        call::gradients(*op, (call, kept), rule, &grad, &places)
                    }
                };
                let found = nodes.into_iter().zip(grads?);
                let mut found = found.filter_map(|(node, grad)| Some((node, grad?)));
                found.try_for_each(|(node, grad)| self.arrive(node, grad))
            }
        }
    }

    fn arrive(&mut self, node: usize, grad: Var<D>) -> Result<(), Failed<D>> {
        let total = match self.totals.remove(&node) {
            None => grad,
            Some(sum) => sum.cast(DType::F32)?.add(&grad.cast(DType::F32)?)?,
        };
        self.totals.insert(node, total);
        Ok(())
    }
}
