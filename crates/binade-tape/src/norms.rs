//! Parameters of normalisations, found by the operations that use them.

use crate::{
    Device, Tape,
    error::Failed,
    record::{Node, Origin},
};
use binade_core::OpClass;
use std::{collections::HashSet, sync::Arc};

impl<D: Device> Tape<D> {
    /// Returns the names of the weights and biases of this record's normalisations, in order of registration. O2 keeps these in `f32`.
    ///
    /// The names of layers do not matter. Call it after a forward pass, which may have its region off and a batch of any size.
    ///
    /// # Errors
    ///
    /// If two parameters have one name.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_autocast::Region;
    /// use binade_core::{DType, Named, ops::Upload};
    /// use binade_cpu::Cpu;
    /// use binade_tape::Tape;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ones = |shape: &[usize]| Cpu.upload(&[1.0; 4][..shape.iter().product()], shape, DType::F32);
    /// let params = [Named::new("0", ones(&[2, 2])?), Named::new("gain", ones(&[2])?), Named::new("offset", ones(&[2])?)];
    /// let tape = Tape::new(Cpu, &Region::bf16().off());
    /// let p = tape.parameters(&params);
    /// let x = tape.constant(ones(&[1, 2])?);
    /// x.linear(&p[0], None)?.layer_norm(&p[1], &p[2], 1e-5)?;
    /// assert_eq!(tape.norms()?, ["gain", "offset"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn norms(&self) -> Result<Vec<String>, Failed<D>> {
        let parameters = self.record().parameters()?;
        let nodes = self.record().all();
        // The first operand is the input that is normalised.
        let gains = nodes.iter().flat_map(|node| match &node.origin {
            Origin::Op { op, parents, .. } if op.class() == OpClass::Norm => &parents[1..],
            _ => &[],
        });
        let gains = gains.flatten().map(|&gain| before_casts(&nodes, gain));
        let gains: HashSet<usize> = gains.collect();
        let named = parameters.into_iter().filter(|(_, node)| gains.contains(node));
        Ok(named.map(|(name, _)| name.to_string()).collect())
    }
}

/// Returns the node that `node` is a cast of, or itself.
fn before_casts<D: Device>(nodes: &[Arc<Node<D>>], node: usize) -> usize {
    match nodes[node].origin {
        Origin::Cast(source) => before_casts(nodes, source),
        _ => node,
    }
}
