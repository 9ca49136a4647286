//! Gradients of a loss, computed from the record.

use crate::{
    Device, TapeError,
    record::{Grads, Node, Origin},
    total::Total,
    value::Value,
};
use binade_core::Handle;
use binade_ops::Fill;
use std::sync::Arc;

type Failed<D> = TapeError<<D as Handle>::Error>;

/// Returns the gradients of `loss` with respect to each node of `wanted`, in its element type; `None` if no path leads there.
///
/// The record is left as it was.
pub(crate) fn differentiate<D: Device>(
    loss: &Value<D>,
    wanted: &[usize],
) -> Result<Grads<D>, Failed<D>> {
    let device = &loss.record.device;
    let shape = device.shape(&loss.tensor);
    if !shape.is_empty() {
        return Err(TapeError::NotScalar { shape });
    }
    let last = loss.node.ok_or(TapeError::Detached)?;
    let mut pass = Pass::new(device, loss.record.nodes(last), wanted);
    pass.arrive(last, Fill::fill(device, 1.0, &[], loss.dtype())?)?;
    pass.run()
}

/// One backward pass through the record.
struct Pass<'a, D: Device> {
    device: &'a D,
    nodes: Vec<Arc<Node<D>>>,
    /// Sum of the gradients that have arrived at each node and have not been passed on yet.
    totals: Vec<Option<Total<D>>>,
    wanted: &'a [usize],
    found: Grads<D>,
}

impl<'a, D: Device> Pass<'a, D> {
    fn new(device: &'a D, nodes: Vec<Arc<Node<D>>>, wanted: &'a [usize]) -> Self {
        let totals = nodes.iter().map(|_| None).collect();
        let found = wanted.iter().map(|_| None).collect();
        Self { device, nodes, totals, wanted, found }
    }

    /// Visits nodes from the last to the first. A node comes after its operands, so that its total is complete once all later
    /// ones have passed theirs on.
    fn run(mut self) -> Result<Grads<D>, Failed<D>> {
        for index in (0..self.nodes.len()).rev() {
            if let Some(total) = self.totals[index].take() {
                let node = self.nodes[index].clone();
                self.keep(index, &node, &total)?;
                self.pass_on(&node, total)?;
            }
        }
        Ok(self.found)
    }

    fn keep(&mut self, index: usize, node: &Node<D>, total: &Total<D>) -> Result<(), Failed<D>> {
        for (wanted, found) in self.wanted.iter().zip(&mut self.found) {
            if *wanted == index {
                *found = Some(total.rounded(self.device, node.dtype)?);
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, node: &Node<D>, total: Total<D>) -> Result<(), Failed<D>> {
        match &node.origin {
            Origin::Leaf => Ok(()),
            Origin::Cast(source) => {
                let grad = total.rounded(self.device, self.nodes[*source].dtype)?;
                self.arrive(*source, grad)
            }
            Origin::Op { name: op, parents, rule } => {
                let grads = rule(self.device, &total.rounded(self.device, node.dtype)?)?;
                let (found, expected) = (grads.len(), parents.len());
                if found != expected {
                    return Err(TapeError::GradientCount { op, found, expected });
                }
                drop(total);
                self.arrive_all(parents, grads)
            }
        }
    }

    fn arrive_all(&mut self, nodes: &[Option<usize>], grads: Grads<D>) -> Result<(), Failed<D>> {
        for (node, grad) in nodes.iter().zip(grads) {
            if let (Some(node), Some(grad)) = (*node, grad) {
                self.arrive(node, grad)?;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, node: usize, grad: D::Tensor) -> Result<(), Failed<D>> {
        let total = match self.totals[node].take() {
            None => Total::new(grad),
            Some(total) => total.plus(self.device, &grad)?,
        };
        self.totals[node] = Some(total);
        Ok(())
    }
}
