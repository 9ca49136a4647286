//! burn's floating-point tensors, without the number of axes in the type.

mod rows;

use crate::{TensorError, dtype, numbers};
use binade_core::{AmpTensor, DType, HostDevice, HostRows};
use burn::tensor::{DType as BurnDType, Device, Shape, Tensor, TensorData};

/// burn's floating-point tensor with any number of axes, so that losses, gradients and parameters of different ranks have one type.
///
/// Casts and scaling are burn's own, differentiable operations. `f32` elements that were changed on the host stay there until a burn tensor is
/// needed, so a step reads each gradient once and writes it once.
///
/// A gradient of [`SparseLookups`](crate::SparseLookups) is sparse: it holds the elements of some rows, and its shape is the table's.
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
    elements: Elements,
    /// Rows that the elements belong to, and the shape of the whole tensor.
    rows: HostRows,
}

/// Handle for burn's tensors on any device. It has no state.
///
/// Scaling and casts are burn's operations. [`HostDevice`] checks, clips and adds gradients on the host, so that the found-inf results are the same
/// for every backend of burn. Masters are on the host too; a module's masters are the bases of its views.
///
/// If burn's device fails, [`named_gradients`](crate::named_gradients) returns an error. Reading tensors of other sources then panics, as in burn.
pub type Burn = HostDevice<BurnTensor>;

/// The handle's only value.
#[expect(non_upper_case_globals, reason = "it is the type's only value, as of a unit struct")]
pub const Burn: Burn = HostDevice::new();

/// Elements of a tensor in row-major order.
#[derive(Clone, Debug)]
enum Elements {
    Device(Tensor<1>),
    /// Elements of an `f32` tensor of that device, still on the host.
    Host(Vec<f32>, Device),
}

/// Makes a tensor with any number of axes of burn's tensor; a quantised tensor is dequantised.
impl<const D: usize> From<Tensor<D>> for BurnTensor {
    fn from(tensor: Tensor<D>) -> Self {
        let is_packed = matches!(tensor.dtype(), BurnDType::QFloat(_));
        let tensor = if is_packed { tensor.dequantize() } else { tensor };
        let shape = tensor.shape();
        let elements = Elements::Device(tensor.reshape([shape.num_elements()]));
        Self { elements, rows: all_rows(&shape) }
    }
}

impl BurnTensor {
    /// Returns burn's tensor. A sparse gradient becomes dense, with zeros in the rows that it lacks.
    ///
    /// # Errors
    ///
    /// If the tensor has another number of axes.
    pub fn to_tensor<const D: usize>(&self) -> Result<Tensor<D>, TensorError> {
        let (found, shape) = (self.shape().len(), self.shape().to_vec());
        if found == D {
            return Ok(self.clone().whole().flat().reshape(Shape::from(shape)));
        }
        Err(TensorError::Rank { found, asked: D, shape })
    }

    /// Returns the length along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.rows.shape
    }

    /// Returns the device of the tensor.
    pub(crate) fn device(&self) -> Device {
        match &self.elements {
            Elements::Device(flat) => flat.device(),
            Elements::Host(_, device) => device.clone(),
        }
    }

    /// Returns this tensor on another device.
    pub(crate) fn to_device(&self, device: &Device) -> Self {
        let elements = match &self.elements {
            Elements::Device(flat) => Elements::Device(flat.clone().to_device(device)),
            Elements::Host(values, _) => Elements::Host(values.clone(), device.clone()),
        };
        self.with_elements(elements)
    }

    /// Returns all elements in row-major order, along one axis. A sparse gradient gives the elements of its rows.
    pub fn flat(&self) -> Tensor<1> {
        match &self.elements {
            Elements::Device(flat) => flat.clone(),
            Elements::Host(values, device) => {
                upload(numbers::encoded(values.clone(), BurnDType::F32), device)
            }
        }
    }

    /// Makes a tensor of `data`, with its type and shape.
    ///
    /// # Errors
    ///
    /// `Unsupported` if `device` does not compute in the type of `data`, or the type is not floating-point.
    pub fn from_data(data: TensorData, device: &Device) -> Result<Self, TensorError> {
        let of = dtype::known(data.dtype()).ok_or_else(|| TensorError::NoFloats(data.dtype()))?;
        dtype::require_dtype(device, of)?;
        let shape = data.shape().clone();
        let (bytes, _, of) = data.into_parts();
        let data = TensorData::from_bytes(bytes, [shape.num_elements()], of);
        Ok(Self { elements: Elements::Device(upload(data, device)), rows: all_rows(&shape) })
    }

    /// Returns this tensor with other elements in the same rows.
    fn with_elements(&self, elements: Elements) -> Self {
        Self { elements, rows: self.rows.clone() }
    }
}

fn all_rows(shape: &[usize]) -> HostRows {
    HostRows { indices: None, shape: shape.to_vec() }
}

fn upload(data: TensorData, device: &Device) -> Tensor<1> {
    let dtype = data.dtype();
    Tensor::from_data(data, (device, dtype))
}

impl AmpTensor for BurnTensor {
    type Error = TensorError;

    fn dtype(&self) -> DType {
        match &self.elements {
            // Elements of any other type are widened to `f32`.
            Elements::Device(flat) => dtype::known(flat.dtype()).unwrap_or(DType::F32),
            Elements::Host(..) => DType::F32,
        }
    }

    fn cast(&self, to: DType) -> Result<Self, TensorError> {
        let float = dtype::require_dtype(&self.device(), to)?;
        let from = AmpTensor::dtype(self);
        if from == to {
            return Ok(self.clone());
        }
        // burn calls `f16::from_f64`, which rounds to f32 first if the processor has an instruction from there to f16.
        if from == DType::F64 && to.bytes() == 2 {
            return Err(TensorError::TwoRoundings { to });
        }
        Ok(self.with_elements(Elements::Device(self.flat().cast(float))))
    }

    fn shape(&self) -> Option<Vec<usize>> {
        Some(self.rows.shape.clone())
    }

    /// Keeps the elements on the host. Their device is burn's default device; a step moves them to their parameter's device.
    fn from_f32(values: &[f32], shape: &[usize]) -> Option<Self> {
        let elements = Elements::Host(values.to_vec(), Device::default());
        Some(Self { elements, rows: all_rows(shape) })
    }

    /// Changes the elements on the host. If the device fails, burn panics.
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let element = self.rows.elements();
        let f = &mut |place, x| f(element(place), x);
        match &mut self.elements {
            Elements::Host(values, _) => apply(values, f),
            Elements::Device(flat) => {
                let (data, device) = (flat.to_data(), flat.device());
                let mut values = numbers::decoded(&data);
                apply(&mut values, f);
                self.elements = Elements::of(values, data.dtype(), device);
            }
        }
    }

    fn rows(&self) -> Option<&[usize]> {
        self.rows.indices.as_deref()
    }

    fn whole(self) -> Self {
        self.with_all_rows()
    }

    fn with_rows(&self, rows: &[usize]) -> Self {
        self.of_rows(rows)
    }

    /// Changes the rows in place. If something else holds the tensor too, burn copies it first.
    fn put_rows(&mut self, rows: Self) {
        self.put(&rows);
    }

    fn scaled(&self, factor: f32) -> Result<Self, TensorError> {
        let product = self.cast(DType::F32)?.flat().mul_scalar(factor);
        Ok(self.with_elements(Elements::Device(product)))
    }
}

impl Elements {
    /// Makes elements of this type; `f32` elements stay on the host.
    fn of(values: Vec<f32>, dtype: BurnDType, device: Device) -> Self {
        match dtype {
            BurnDType::F32 => Self::Host(values, device),
            dtype => Self::Device(upload(numbers::encoded(values, dtype), &device)),
        }
    }
}

fn apply(values: &mut [f32], f: &mut dyn FnMut(usize, f32) -> f32) {
    values.iter_mut().enumerate().for_each(|(index, x)| *x = f(index, *x));
}
