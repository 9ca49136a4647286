//! A floating-point tensor of burn's whose number of axes is no part of its type.

use crate::{TensorError, dtype, numbers};
use binade_core::{AmpTensor, DType};
use burn::tensor::{Device, Shape, Tensor, TensorData};

/// A tensor of burn's of any number of axes: what losses, gradients and parameters of mixed ranks have in common.
///
/// It is the tensor as one axis, and its shape. Casting and scaling are burn's own operations and are differentiable.
///
/// ```
/// use binade_burn::BurnTensor;
/// use burn::tensor::{Device, Tensor};
///
/// let tensor = BurnTensor::from(Tensor::<2>::ones([2, 3], &Device::flex()));
/// assert_eq!(tensor.shape(), [2, 3]);
/// assert_eq!(tensor.to_tensor::<2>()?.dims(), [2, 3]);
/// assert!(tensor.to_tensor::<3>().is_err());
/// # Ok::<(), binade_burn::TensorError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BurnTensor {
    flat: Tensor<1>,
    shape: Shape,
}

impl<const D: usize> From<Tensor<D>> for BurnTensor {
    fn from(tensor: Tensor<D>) -> Self {
        let shape = tensor.shape();
        Self { flat: tensor.reshape([shape.num_elements()]), shape }
    }
}

impl BurnTensor {
    /// As burn has it.
    ///
    /// # Errors
    ///
    /// Where it has another number of axes.
    pub fn to_tensor<const D: usize>(&self) -> Result<Tensor<D>, TensorError> {
        if self.shape.num_dims() == D {
            return Ok(self.flat.clone().reshape(self.shape.clone()));
        }
        let (found, shape) = (self.shape.num_dims(), self.shape().to_vec());
        Err(TensorError::Rank { found, asked: D, shape })
    }

    /// Its lengths along each axis.
    pub fn shape(&self) -> &[usize] {
        self.shape.as_slice()
    }

    /// Where it is.
    pub fn device(&self) -> Device {
        self.flat.device()
    }

    /// All elements in row-major order, as one axis.
    pub fn flat(&self) -> &Tensor<1> {
        &self.flat
    }

    /// Its elements on the host. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn to_data(&self) -> Result<TensorData, TensorError> {
        Ok(self.flat.try_to_data()?)
    }

    /// A tensor of `data`, with that type and shape.
    ///
    /// # Errors
    ///
    /// `Unsupported` where `device` does not compute in its type.
    pub fn from_data(data: TensorData, device: &Device) -> Result<Self, TensorError> {
        let float = dtype::require_dtype(device, dtype::known(data.dtype()))?;
        let shape = data.shape().clone();
        let (bytes, _, of) = data.into_parts();
        let data = TensorData::from_bytes(bytes, [shape.num_elements()], of);
        Ok(Self { flat: Tensor::from_data(data, (device, float.into())), shape })
    }
}

impl AmpTensor for BurnTensor {
    type Error = TensorError;

    fn dtype(&self) -> DType {
        dtype::known(self.flat.dtype())
    }

    fn cast(&self, to: DType) -> Result<Self, TensorError> {
        let float = dtype::require_dtype(&self.device(), to)?;
        // `f16::from_f64`, which burn calls, goes by way of f32 where the processor has an instruction for the rest.
        if AmpTensor::dtype(self) == DType::F64 && to.bytes() == 2 {
            return Err(TensorError::TwoRoundings { to });
        }
        Ok(Self { flat: self.flat.clone().cast(float), shape: self.shape.clone() })
    }

    /// By way of the host, which burn panics at where its device fails.
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let data = numbers::mapped(self.flat.to_data(), f);
        let options = (&self.device(), data.dtype());
        self.flat = Tensor::from_data(data, options);
    }

    fn scaled(&self, factor: f32) -> Result<Self, TensorError> {
        let Self { flat, shape } = self.cast(DType::F32)?;
        Ok(Self { flat: flat.mul_scalar(factor), shape })
    }
}
