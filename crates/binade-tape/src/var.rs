//! Values on a tape.

use crate::{
    Device, Tape, TapeError,
    error::Failed,
    ops::Saves,
    record::{Grads, Origin, RecordedRule, Value},
};
use binade_autocast::Autocast;
use binade_cast_policy::OpCall;
use binade_core::{DType, Op, ops::OpInvocation};
use std::{borrow::Cow, fmt, sync::Arc};

/// Value on a tape. Cheap to clone; operations are its methods.
///
/// The receiver decides how an operation is computed. `x.linear(&w, None)` uses the region, the place and the gradient mode that
/// `x` carries, and its result carries them on. [`on`](Self::on) and [`at`](Self::at) replace them.
pub struct Var<D: Device> {
    tape: Tape<D>,
    value: Value<D>,
}

impl<D: Device> Var<D> {
    pub(crate) fn new(tape: Tape<D>, value: Value<D>) -> Self {
        Self { tape, value }
    }

    /// Marks the value as a view of `storage`, so that its bytes are not counted twice in `activation_bytes`.
    pub(crate) fn sharing(mut self, storage: u64) -> Self {
        self.value.storage = storage;
        self
    }

    pub(crate) fn value(&self) -> &Value<D> {
        &self.value
    }

    /// Returns the tensor.
    pub fn tensor(&self) -> &D::Tensor {
        &self.value.tensor
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.value.dtype()
    }

    /// Returns the extent of each axis, slowest first.
    pub fn shape(&self) -> Vec<usize> {
        self.tape.device().shape(self.tensor())
    }

    /// Returns the tape that the value carries.
    pub fn tape(&self) -> &Tape<D> {
        &self.tape
    }

    /// Returns the value carrying `tape`: another region, place or gradient mode of the same record.
    ///
    /// # Errors
    ///
    /// [`TapeError::TwoTapes`] if `tape` is another record's.
    pub fn on(&self, tape: &Tape<D>) -> Result<Self, Failed<D>> {
        if !Arc::ptr_eq(self.tape.record(), tape.record()) {
            return Err(TapeError::TwoTapes { op: "on" });
        }
        Ok(Self::new(tape.clone(), self.value.clone()))
    }

    /// Returns the value at `path` in the model: `x.at("encoder.0").linear(&w, None)`.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        Self::new(self.tape.at(path), self.value.clone())
    }

    /// Returns the value detached: no gradient passes it.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::new(self.tape.clone(), self.value.detached())
    }

    /// Casts the value to another element type, whatever the region's policy; its gradient is cast back.
    ///
    /// # Errors
    ///
    /// If the device cannot cast.
    pub fn cast(&self, to: DType) -> Result<Self, Failed<D>> {
        let seen = self.tape.seen(&self.value);
        let value =
            if seen.dtype() == to { seen } else { self.tape.scope().device.cast(&seen, to)? };
        Ok(Self::new(self.tape.clone(), value))
    }

    /// Returns the operands of `op`, cast by the region that `self` carries, for operations whose result has their type.
    pub(crate) fn operands<const N: usize>(
        &self,
        op: Op,
        operands: [&Self; N],
    ) -> Result<[Value<D>; N], Failed<D>> {
        let seen = self.seen(op, operands)?;
        let cast = self.tape.scope().cast(op, self.tape.path(), seen.each_ref());
        Ok(cast.map_err(TapeError::from)?.map(Cow::into_owned))
    }

    /// Returns any number of operands, cast as by [`operands`](Self::operands), for a `call` with sizes of its own.
    pub(crate) fn operand_list(
        &self,
        call: OpCall<'_>,
        operands: &[&Self],
    ) -> Result<Vec<Value<D>>, Failed<D>> {
        let seen = self.seen_list(call.op, operands)?;
        let seen: Vec<&Value<D>> = seen.iter().collect();
        let cast = self.tape.scope().cast_all(&OpCall { path: self.tape.path(), ..call }, &seen);
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
        let call = OpCall { path: self.tape.path(), ..op.into() };
        let (cast, _) = self.tape.scope().prepare(&call, &seen).map_err(TapeError::from)?;
        Ok(cast.into_iter().map(Cow::into_owned).collect())
    }

    /// Returns operands that the region does not cast.
    pub(crate) fn seen<const N: usize>(
        &self,
        op: Op,
        operands: [&Self; N],
    ) -> Result<[Value<D>; N], Failed<D>> {
        self.check_tape(op, &operands)?;
        Ok(operands.map(|operand| self.tape.seen(&operand.value)))
    }

    pub(crate) fn seen_list(&self, op: Op, operands: &[&Self]) -> Result<Vec<Value<D>>, Failed<D>> {
        self.check_tape(op, operands)?;
        Ok(operands.iter().map(|operand| self.tape.seen(&operand.value)).collect())
    }

    fn check_tape(&self, op: Op, operands: &[&Self]) -> Result<(), Failed<D>> {
        let record = self.tape.record();
        if operands.iter().all(|operand| Arc::ptr_eq(record, operand.tape.record())) {
            Ok(())
        } else {
            Err(TapeError::TwoTapes { op: op.name() })
        }
    }

    /// Returns the result of `op` on `inputs`, and records it if a gradient of one of them is wanted. Double backward refuses `op`.
    pub(crate) fn push(
        &self,
        op: Op,
        inputs: &[&Value<D>],
        saves: &Saves<'_, D>,
        tensor: D::Tensor,
        rule: impl Fn(&D, &D::Tensor) -> Result<Grads<D>, Failed<D>> + Send + Sync + 'static,
    ) -> Self {
        self.push_recorded(op, inputs, saves, tensor, rule, |_| RecordedRule::Absent)
    }

    /// Returns the result of `op` as [`push`](Self::push) does, with the recorded rule that `recorded` makes of the result.
    pub(crate) fn push_recorded(
        &self,
        op: Op,
        inputs: &[&Value<D>],
        saves: &Saves<'_, D>,
        tensor: D::Tensor,
        rule: impl Fn(&D, &D::Tensor) -> Result<Grads<D>, Failed<D>> + Send + Sync + 'static,
        recorded: impl FnOnce(&Value<D>) -> RecordedRule<D>,
    ) -> Self {
        let record = self.tape.record();
        let mut output = record.value(tensor);
        if inputs.iter().any(|input| input.node.is_some()) {
            let (kept, keeps_output) = saves.parts();
            for value in kept {
                record.save(value);
            }
            if keeps_output {
                record.save(&output);
            }
            let parents = inputs.iter().map(|input| input.node).collect();
            record.push_with(output.dtype(), |node| {
                output.node = Some(node);
                Origin::Op { op, parents, rule: Box::new(rule), recorded: recorded(&output) }
            });
        }
        Self::new(self.tape.clone(), output)
    }

    /// Returns the result of `op` as [`push`](Self::push) does. Double backward records `backward`, a call on the gradient and then the saved
    /// tensors.
    pub(crate) fn push_call(
        &self,
        op: Op,
        inputs: &[&Value<D>],
        saves: &Saves<'_, D>,
        tensor: D::Tensor,
        rule: impl Fn(&D, &D::Tensor) -> Result<Grads<D>, Failed<D>> + Send + Sync + 'static,
        backward: OpInvocation,
    ) -> Self {
        self.push_recorded(op, inputs, saves, tensor, rule, |output| {
            let (kept, keeps_output) = saves.parts();
            let output = keeps_output.then_some(output);
            let kept = kept.iter().copied().chain(output).map(Value::kept);
            RecordedRule::Call(backward, kept.collect())
        })
    }
}

impl<D: Device> Clone for Var<D> {
    fn clone(&self) -> Self {
        Self::new(self.tape.clone(), self.value.clone())
    }
}

impl<D: Device> fmt::Debug for Var<D> {
    /// Prints the type and shape; printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Var({} {:?})", self.dtype(), self.shape())
    }
}
