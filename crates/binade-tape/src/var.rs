//! Values on a tape.

use crate::{Device, Tape, TapeError, backward::differentiate, record::Registered, value::Value};
use binade_autocast::Autocast;
use binade_core::{DType, Named};
use std::{fmt, sync::Arc};

type Failed<D> = TapeError<<D as binade_core::Handle>::Error>;

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

    /// Returns true if a gradient can arrive here.
    pub fn wants_gradient(&self) -> bool {
        self.value.node.is_some()
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

    /// Casts the value to another element type, whatever the region says; its gradient is cast back.
    ///
    /// # Errors
    ///
    /// If the device cannot cast.
    pub fn cast(&self, to: DType) -> Result<Self, Failed<D>> {
        let seen = self.tape.seen(&self.value);
        let value =
            if seen.dtype() == to { seen } else { self.tape.scope().device().cast(&seen, to)? };
        Ok(Self::new(self.tape.clone(), value))
    }

    /// Returns the gradients of this scalar with respect to every parameter of the tape, in order of registration and in the
    /// element type of each. A gradient is `None` if no path leads to the parameter.
    ///
    /// The tape does not change: another loss may be differentiated after this one.
    ///
    /// # Errors
    ///
    /// If it is not a scalar, or no parameter led to it; if two parameters have one name; if the device fails.
    pub fn backward<G>(&self) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        self.named_gradients(self.tape.record().parameters()?)
    }

    /// Returns the gradients with respect to these parameters alone, in this order, as [`backward`](Self::backward) does for all:
    /// the set of one of several optimizers.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward), and an error if one of `towards` is no parameter of this tape.
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

    /// Returns the gradient of this scalar with respect to any one value of the tape, in its element type; `None` if no path
    /// leads there.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward), except for names.
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
    /// Prints the type and shape; printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Var({} {:?})", self.dtype(), self.shape())
    }
}
