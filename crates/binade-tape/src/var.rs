//! A value on a tape.

use crate::{Device, Tape, TapeError, backward::differentiate, record::Registered, value::Value};
use binade_autocast::Autocast;
use binade_core::{DType, Named};
use std::{fmt, sync::Arc};

type Failed<D> = TapeError<<D as binade_core::Handle>::Error>;

/// A value on a tape. Cheap to clone; operations are its methods.
///
/// The receiver says how an operation is computed: `x.linear(&w, None)` uses the region, the place and the gradient mode
/// that `x` carries, and its result carries them on. [`on`](Self::on), [`at`](Self::at) put others in place.
pub struct Var<D: Device> {
    tape: Tape<D>,
    value: Value<D>,
}

impl<D: Device> Var<D> {
    pub(crate) fn new(tape: Tape<D>, value: Value<D>) -> Self {
        Self { tape, value }
    }

    /// The same, known to have the elements of `storage`.
    pub(crate) fn sharing(mut self, storage: u64) -> Self {
        self.value.storage = storage;
        self
    }

    pub(crate) fn value(&self) -> &Value<D> {
        &self.value
    }

    /// The elements.
    pub fn tensor(&self) -> &D::Tensor {
        &self.value.tensor
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.value.dtype()
    }

    /// The extent of each axis, slowest first.
    pub fn shape(&self) -> Vec<usize> {
        self.tape.device().shape(self.tensor())
    }

    /// The tape it is on, as it is carried.
    pub fn tape(&self) -> &Tape<D> {
        &self.tape
    }

    /// Whether a gradient can arrive here.
    pub fn wants_gradient(&self) -> bool {
        self.value.node.is_some()
    }

    /// The same value, carrying `tape`: another region, place or gradient mode of the same record.
    ///
    /// # Errors
    ///
    /// [`TapeError::TwoTapes`] where `tape` is another record's.
    pub fn on(&self, tape: &Tape<D>) -> Result<Self, Failed<D>> {
        if !Arc::ptr_eq(self.tape.record(), tape.record()) {
            return Err(TapeError::TwoTapes { op: "on" });
        }
        Ok(Self::new(tape.clone(), self.value.clone()))
    }

    /// The same value, at `path` in the model: `x.at("encoder.0").linear(&w, None)`.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        Self::new(self.tape.at(path), self.value.clone())
    }

    /// The same value with no way back: no gradient passes it.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::new(self.tape.clone(), self.value.detached())
    }

    /// The value with another element type, whatever the region says; its gradient is cast back.
    ///
    /// # Errors
    ///
    /// When the device cannot cast.
    pub fn cast(&self, to: DType) -> Result<Self, Failed<D>> {
        let seen = self.tape.seen(&self.value);
        let value =
            if seen.dtype() == to { seen } else { self.tape.scope().device().cast(&seen, to)? };
        Ok(Self::new(self.tape.clone(), value))
    }

    /// The gradients of this scalar towards every parameter of the tape, in order of registration and in the element
    /// type of each; `None` where no path leads to one: a missing gradient.
    ///
    /// The tape stays as it is: another loss may be differentiated after this one.
    ///
    /// # Errors
    ///
    /// Where it is not a scalar, or no parameter led to it; where two parameters have one name; when the device fails.
    pub fn backward<G>(&self) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        self.named_gradients(self.tape.record().parameters()?)
    }

    /// As [`backward`](Self::backward), towards these parameters alone and in this order: one of several optimizers' set.
    ///
    /// # Errors
    ///
    /// As for [`backward`](Self::backward), and where one of `towards` is no parameter of this tape.
    pub fn backward_to<'v, G>(
        &self,
        towards: impl IntoIterator<Item = &'v Self>,
    ) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        let known = self.tape.record().parameters()?;
        let find = |(position, var): (usize, &Self)| {
            let here = Arc::ptr_eq(self.tape.record(), var.tape.record());
            let same = |(_, node): &&Registered| here && Some(*node) == var.value.node;
            known.iter().find(same).cloned().ok_or(TapeError::NotParameter { position })
        };
        self.named_gradients(towards.into_iter().enumerate().map(find).collect::<Result<_, _>>()?)
    }

    fn named_gradients<G>(&self, parameters: Vec<Registered>) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        let nodes: Vec<usize> = parameters.iter().map(|(_, node)| *node).collect();
        let grads = differentiate(&self.value, &nodes)?;
        let names = parameters.into_iter().map(|(name, _)| name);
        Ok(names.zip(grads).map(|(name, grad)| Named::new(name, grad)).collect::<Vec<_>>().into())
    }

    /// The gradient of this scalar towards any one value of the tape, in its element type; `None` where no path leads
    /// there.
    ///
    /// # Errors
    ///
    /// As for [`backward`](Self::backward), names apart.
    pub fn gradient(&self, towards: &Self) -> Result<Option<D::Tensor>, Failed<D>> {
        if !Arc::ptr_eq(self.tape.record(), towards.tape.record()) {
            return Err(TapeError::TwoTapes { op: "gradient" });
        }
        let Some(node) = towards.value.node else { return Ok(None) };
        Ok(differentiate(&self.value, &[node])?.pop().flatten())
    }
}

impl<D: Device> Clone for Var<D> {
    fn clone(&self) -> Self {
        Self::new(self.tape.clone(), self.value.clone())
    }
}

impl<D: Device> fmt::Debug for Var<D> {
    /// The type and shape; printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Var({} {:?})", self.dtype(), self.shape())
    }
}
