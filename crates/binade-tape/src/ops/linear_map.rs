//! Linear maps of one operand, each recorded beside its transpose: backward applies the transpose, double backward the map again.

use super::{Outcome, Saves};
use crate::{
    Device, Var,
    record::{RecordedRule, Value},
};
use binade_core::{Handle, Op};
use std::sync::Arc;

/// Linear map of a tensor.
pub(crate) type Map<D> = Arc<
    dyn Fn(&D, &<D as Handle>::Tensor) -> Result<<D as Handle>::Tensor, <D as Handle>::Error>
        + Send
        + Sync,
>;

/// Returns a function as a linear map.
pub(crate) fn map<D, F>(function: F) -> Map<D>
where
    D: Device,
    F: Fn(&D, &D::Tensor) -> Result<D::Tensor, D::Error> + Send + Sync + 'static,
{
    Arc::new(function)
}

impl<D: Device> Var<D> {
    /// Returns the result of a linear map on `self`, given with its transpose. No policy applies.
    pub(crate) fn linear_map(&self, op: Op, [forward, transpose]: [Map<D>; 2]) -> Outcome<D> {
        let [x] = self.seen(op, [self])?;
        let output = forward(self.tape().device(), &x.tensor)?;
        Ok(self.push_linear(op, &[&x], &Saves::Nothing, output, [forward, transpose]))
    }

    /// Records `output`, which is a linear map of the first input plus a constant. Other inputs have no gradient.
    pub(crate) fn push_linear(
        &self,
        op: Op,
        inputs: &[&Value<D>],
        saves: &Saves<'_, D>,
        output: D::Tensor,
        [forward, transpose]: [Map<D>; 2],
    ) -> Self {
        let (back, others) = (transpose.clone(), inputs.len() - 1);
        let rule = move |device: &D, grad: &D::Tensor| {
            let mut grads = vec![Some(back(device, grad)?)];
            grads.resize_with(1 + others, || None);
            Ok(grads)
        };
        self.push_recorded(op, inputs, saves, output, rule, |_| {
            RecordedRule::Own(Box::new(move |grad, place| {
                if place > 0 {
                    return Ok(None);
                }
                grad.linear_map(op, [transpose.clone(), forward.clone()]).map(Some)
            }))
        })
    }
}
