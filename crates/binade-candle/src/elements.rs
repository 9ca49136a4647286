//! Elements of a tensor on the host, which the arithmetic of [`HostDevice`](binade_core::HostDevice) works on.

mod rows;
mod sets;

pub(crate) use sets::{read_grads, read_moving, read_params, write_grads};

use crate::{Error, dtype::dtype, read::read};
use binade_core::cast::{OnOverflow::NonFinite, round};
use binade_core::{AmpTensor, DType, HostRows, HostTypeError};
use candle_core::{Device, Shape, Tensor, Var};
use std::sync::Arc;

/// Elements as `f32` in row-major order, each a value of `dtype`, with the shape and device of their tensor.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    dtype: DType,
    values: Vec<f32>,
    /// Rows that the values belong to, and the shape of the whole tensor.
    rows: HostRows,
    device: Device,
}

impl Elements {
    /// Makes the elements of a tensor of this shape on this device.
    pub(crate) fn new(dtype: DType, values: Vec<f32>, (shape, device): (Shape, Device)) -> Self {
        let rows = HostRows { indices: None, shape: shape.into_dims() };
        Self { dtype, values, rows, device }
    }

    /// Copies the elements of `tensor`. Waits for its device.
    pub(crate) fn read(name: &Arc<str>, tensor: &Tensor) -> Result<Self, Error> {
        let dtype = trainable(name, tensor)?;
        let values = read(&tensor.detach().to_dtype(candle_core::DType::F32)?)?;
        Ok(Self::new(dtype, values, (tensor.shape().clone(), tensor.device().clone())))
    }

    /// Makes a tensor of these elements, on the device that they came from.
    pub(crate) fn to_tensor(&self) -> Result<Tensor, Error> {
        let wide = Tensor::from_slice(&self.values, self.own_shape(), &self.device)?;
        Ok(wide.to_dtype(crate::candle_dtype(self.dtype)?)?)
    }

    /// Writes these elements to a parameter. A `Var` of this type is set, so that its other holders see them. Otherwise `place` becomes a new tensor,
    /// or a new `Var` if it was one.
    pub(crate) fn put(&self, place: &mut Tensor) -> Result<(), Error> {
        if let Some(rows) = &self.rows.indices {
            return self.put_in_rows(rows, place);
        }
        let new = self.to_tensor()?;
        match (place.is_variable(), place.dtype() == new.dtype()) {
            (true, true) => Var::from_tensor(place)?.set(&new)?,
            (true, false) => *place = Var::from_tensor(&new)?.into_inner(),
            (false, _) => *place = new,
        }
        Ok(())
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the extents of the whole tensor.
    pub(crate) fn dims(&self) -> &[usize] {
        &self.rows.shape
    }

    /// Returns other elements with the same type, rows, shape and device.
    pub(crate) fn with_values(self, values: Vec<f32>) -> Self {
        Self { values, ..self }
    }
}

impl AmpTensor for Elements {
    type Error = HostTypeError;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn cast(&self, to: DType) -> Result<Self, HostTypeError> {
        let rounded = self.values.iter().map(|x| round(*x, to, NonFinite).ok_or(HostTypeError(to)));
        let values = rounded.collect::<Result<_, _>>()?;
        Ok(Self { dtype: to, values, ..self.clone() })
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let element = self.rows.elements();
        for (place, x) in self.values.iter_mut().enumerate() {
            let new = f(element(place), *x);
            *x = round(new, self.dtype, NonFinite).unwrap_or(new);
        }
    }

    fn rows(&self) -> Option<&[usize]> {
        self.rows.indices.as_deref()
    }

    fn whole(self) -> Self {
        let values = self.rows.whole(self.values);
        Self { values, rows: HostRows { indices: None, ..self.rows }, ..self }
    }

    fn with_rows(&self, rows: &[usize]) -> Self {
        let values = self.rows.select(&self.values, rows);
        let rows = HostRows { indices: Some(rows.into()), shape: self.rows.shape.clone() };
        Self { dtype: self.dtype, values, rows, device: self.device.clone() }
    }
}

/// Returns the type of a parameter or a gradient, if it can be trained.
pub(crate) fn trainable(name: &Arc<str>, tensor: &Tensor) -> Result<DType, Error> {
    match dtype(tensor.dtype()) {
        dtype @ (DType::BF16 | DType::F16 | DType::F32) => Ok(dtype),
        _ => Err(Error::Untrainable { name: name.clone(), dtype: tensor.dtype() }),
    }
}
