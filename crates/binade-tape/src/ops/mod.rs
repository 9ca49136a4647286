//! Operations, named as in `binade-ops`, and the code that they share: a file each, unless [`signatures`] has them.

mod affine;
mod scaled_by;
#[macro_use]
mod signatures;

use crate::{
    Device, TapeError, Var,
    record::{Grads, Origin},
    value::Value,
};
use binade_cast_policy::OpCall;
use binade_core::{Handle, Op};
use std::{borrow::Cow, sync::Arc};

macro_rules! operations {
    // A tape needs no `fill`: it starts from existing tensors.
    ({} Fill fill $methods:tt $($trait:ident $name:ident $rest:tt)*) => {
        $(by_signature!($trait $name $rest);)*
    };
}

binade_ops::for_each_op!([operations]);

pub(crate) type Failed<D> = TapeError<<D as Handle>::Error>;
pub(crate) type Outcome<D> = Result<Var<D>, Failed<D>>;

/// Tensors that an operation keeps for its backward pass, for the count of activation bytes.
pub(crate) enum Saves<'v, D: Device> {
    Nothing,
    Inputs(&'v [&'v Value<D>]),
    InputsAndOutput(&'v [&'v Value<D>]),
    Output,
}

impl<D: Device> Var<D> {
    /// Returns the operands of `op`, cast by the region that `self` carries, for operations whose result has their type.
    pub(crate) fn operands<const N: usize>(
        &self,
        op: Op,
        operands: [&Self; N],
    ) -> Result<[Value<D>; N], Failed<D>> {
        let seen = self.seen(op, operands)?;
        let cast = self.tape().scope().cast(op, self.tape().path(), seen.each_ref());
        Ok(cast.map_err(TapeError::from)?.map(Cow::into_owned))
    }

    /// Returns any number of operands, cast as by [`operands`](Self::operands), for a `call` with attributes.
    pub(crate) fn operand_list(
        &self,
        call: OpCall<'_>,
        operands: &[&Self],
    ) -> Result<Vec<Value<D>>, Failed<D>> {
        let seen = self.seen_list(call.op, operands)?;
        let seen: Vec<&Value<D>> = seen.iter().collect();
        let cast = self.tape().scope().cast_all(&call.with_path(self.tape().path()), &seen);
        Ok(cast.map_err(TapeError::from)?.into_iter().map(Cow::into_owned).collect())
    }

    /// Returns operands, cast as by [`operand_list`](Self::operand_list), for operations whose result is always `f32`: a policy
    /// that asks for an `f32` result gets it without a cast.
    pub(crate) fn operands_of_f32(
        &self,
        op: Op,
        operands: &[&Self],
    ) -> Result<Vec<Value<D>>, Failed<D>> {
        let seen = self.seen_list(op, operands)?;
        let seen: Vec<&Value<D>> = seen.iter().collect();
        let call = OpCall::from(op).with_path(self.tape().path());
        let prepared = self.tape().scope().prepare(&call, &seen).map_err(TapeError::from)?;
        Ok(prepared.operands.into_iter().map(Cow::into_owned).collect())
    }

    /// Returns operands that the region does not cast.
    pub(crate) fn seen<const N: usize>(
        &self,
        op: Op,
        operands: [&Self; N],
    ) -> Result<[Value<D>; N], Failed<D>> {
        self.check_tape(op, &operands)?;
        Ok(operands.map(|operand| self.tape().seen(operand.value())))
    }

    fn seen_list(&self, op: Op, operands: &[&Self]) -> Result<Vec<Value<D>>, Failed<D>> {
        self.check_tape(op, operands)?;
        Ok(operands.iter().map(|operand| self.tape().seen(operand.value())).collect())
    }

    fn check_tape(&self, op: Op, operands: &[&Self]) -> Result<(), Failed<D>> {
        let record = self.tape().record();
        if operands.iter().all(|operand| Arc::ptr_eq(record, operand.tape().record())) {
            Ok(())
        } else {
            Err(TapeError::TwoTapes { op: op.name() })
        }
    }

    /// Returns the result of `op` on `inputs`, and records it if a gradient of one of them is wanted.
    pub(crate) fn push(
        &self,
        op: Op,
        inputs: &[&Value<D>],
        saves: &Saves<'_, D>,
        tensor: D::Tensor,
        rule: impl Fn(&D, &D::Tensor) -> Result<Grads<D>, Failed<D>> + Send + Sync + 'static,
    ) -> Self {
        let record = self.tape().record();
        let mut output = record.value(tensor);
        if inputs.iter().any(|input| input.node.is_some()) {
            match saves {
                Saves::Nothing => {}
                Saves::Inputs(kept) => kept.iter().for_each(|value| record.save(value)),
                Saves::InputsAndOutput(kept) => {
                    kept.iter().for_each(|value| record.save(value));
                    record.save(&output);
                }
                Saves::Output => record.save(&output),
            }
            let parents = inputs.iter().map(|input| input.node).collect();
            let origin = Origin::Op { name: op.name(), parents, rule: Box::new(rule) };
            output.node = Some(record.push(output.dtype(), origin));
        }
        Self::new(self.tape().clone(), output)
    }
}

/// Returns a gradient for every operand.
pub(crate) fn all<T, const N: usize>(grads: [T; N]) -> Vec<Option<T>> {
    grads.map(Some).into()
}
