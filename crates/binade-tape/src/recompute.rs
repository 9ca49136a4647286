//! Parts of a model that backward computes again, in place of keeping their activations.

use crate::{
    Device, Tape, TapeError, Var,
    backward::differentiate,
    error::Failed,
    ops::{Outcome, Saves},
    record::{Grads, Kept, Value},
};
use binade_autocast::Region;
use binade_core::{Op, OpClass};

const RECOMPUTE: Op = Op::custom("recompute", OpClass::Other);

impl<D: Device> Tape<D> {
    /// Returns the result of `f` on `inputs`. Only the inputs are kept for backward, which calls `f` again (Chen et al. 2016, arXiv 1604.06174). This
    /// costs a second forward pass, and saves the memory of the activations.
    ///
    /// Every value whose gradient is wanted must be among the inputs, parameters included; `f` must compute the same whenever it is called, from keys
    /// that it captures where it is random. The second call uses the region and the place of forward, whatever they are at backward. Gradients then
    /// have the bits that they have without, unless an input is used outside `f` too: its gradients are added up in another order.
    ///
    /// # Errors
    ///
    /// If there are no inputs, or `f` fails, now or in backward.
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
    /// let tape = Tape::new(Cpu, &Region::bf16());
    /// let x = tape.constant(Cpu.upload(&[1.0, -2.0], &[1, 2], DType::F32)?);
    /// let weight = Named::new("weight", Cpu.upload(&[0.5; 4], &[2, 2], DType::F32)?);
    /// let weight = tape.parameter(&weight);
    /// let y = tape.recompute(&[&x, &weight], |of| of[0].linear(&of[1], None)?.gelu())?;
    /// let grads: Vec<_> = y.sum()?.backward()?;
    /// assert!(grads[0].value.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn recompute<F>(&self, inputs: &[&Var<D>], f: F) -> Outcome<D>
    where
        F: Fn(&[Var<D>]) -> Outcome<D> + Send + Sync + 'static,
    {
        let Some(first) = inputs.first() else {
            return Err(TapeError::NoOperands { op: RECOMPUTE.name() });
        };
        let here = first.on(self)?;
        let values = here.seen_list(RECOMPUTE, inputs)?;
        let without = self.no_grad();
        let seen = values.iter().map(|value| Var::new(without.clone(), value.detached()));
        let output = f(&seen.collect::<Vec<_>>())?.tensor().clone();
        let again = Again { region: self.region().clone(), path: self.path().into(), f };
        let kept: Vec<_> = values.iter().map(Value::kept).collect();
        let rule = move |device: &D, grad: &D::Tensor| again.gradients(device, &kept, grad);
        let values: Vec<_> = values.iter().collect();
        Ok(here.push(RECOMPUTE, &values, &Saves::Inputs(&values), output, rule))
    }
}

/// Function that is called again, and the settings that it was called under.
pub(crate) struct Again<F> {
    pub(crate) region: Region,
    pub(crate) path: String,
    pub(crate) f: F,
}

impl<F> Again<F> {
    /// Computes the function on a separate record, and returns the inputs' gradients from the result's.
    pub(crate) fn gradients<D: Device>(
        &self,
        device: &D,
        inputs: &[Kept<D>],
        grad: &D::Tensor,
    ) -> Result<Grads<D>, Failed<D>>
    where
        F: Fn(&[Var<D>]) -> Outcome<D>,
    {
        let tape = Tape::new(device.clone(), &self.region).at(&self.path);
        let leaf = |input: &Kept<D>| match input.node {
            Some(_) => tape.variable_of(input),
            None => tape.constant(input.tensor.clone()),
        };
        let leaves: Vec<_> = inputs.iter().map(leaf).collect();
        let output = (self.f)(&leaves)?;
        let nodes: Vec<_> = leaves.iter().filter_map(|leaf| leaf.value().node).collect();
        if output.value().node.is_none() {
            return Ok(inputs.iter().map(|_| None).collect());
        }
        let mut grads = differentiate(output.value(), grad.clone(), &nodes)?.into_iter();
        let of = |leaf: &Var<D>| leaf.value().node.and_then(|_| grads.next().flatten());
        Ok(leaves.iter().map(of).collect())
    }
}
