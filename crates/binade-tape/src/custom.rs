//! Operations of the user's own.

use crate::{
    Device, Tape, TapeError, Var,
    ops::{Outcome, Saves},
};
use binade_autocast::Region;
use binade_cast_policy::OpCall;

/// Context of a custom operation's closures, forward and backward alike.
#[derive(Debug)]
pub struct CustomCall<'c, D: Device> {
    /// Device of the tape.
    pub device: &'c D,
    /// Region of the forward pass, whatever the region at backward.
    pub region: &'c Region,
    /// Operands as the region's policy gave them to forward.
    pub operands: &'c [D::Tensor],
}

impl<D: Device> Tape<D> {
    /// Runs an operation of the caller's own on plain tensors. `forward` returns its result. `backward` returns the gradients of
    /// its operands from the result's, one for each, `None` for none.
    ///
    /// The policy is asked about `call`, an [`Op`](binade_core::Op) or one with sizes that the policy may go by, as about any other. Register it
    /// there, or it runs in the types it is given. Nothing inside either closure is cast automatically: `call.region.open(call.device)` casts there.
    /// A gradient of another type than its operand's is cast to it.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, or `forward` fails.
    pub fn custom<'c, F, B>(
        &self,
        call: impl Into<OpCall<'c>>,
        operands: &[&Var<D>],
        forward: F,
        backward: B,
    ) -> Outcome<D>
    where
        F: FnOnce(CustomCall<'_, D>) -> Result<D::Tensor, TapeError<D::Error>>,
        B: Fn(CustomCall<'_, D>, &D::Tensor) -> Result<Vec<Option<D::Tensor>>, TapeError<D::Error>>
            + Send
            + Sync
            + 'static,
    {
        let call = call.into();
        let op = call.op;
        let Some(first) = operands.first() else {
            return Err(TapeError::NoOperands { op: op.name() });
        };
        let here = first.on(self)?;
        let values = here.operand_list(call, operands)?;
        let (inputs, region) = (values.iter().collect::<Vec<_>>(), self.region().clone());
        let tensors: Vec<_> = values.iter().map(|value| value.tensor.clone()).collect();
        let call = CustomCall { device: self.device(), region: &region, operands: &tensors };
        let output = forward(call)?;
        let rule = move |device: &D, grad: &D::Tensor| {
            backward(CustomCall { device, region: &region, operands: &tensors }, grad)
        };
        Ok(here.push(op, &inputs, &Saves::Inputs(&inputs), output, rule))
    }
}
