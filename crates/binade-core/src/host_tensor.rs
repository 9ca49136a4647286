//! Host tensor to begin with: a vector of `bf16`, `f16` or `f32`.

use crate::{AmpTensor, DType, Element, Error, ErrorKind};
use half::{bf16, f16};

/// Vector of `bf16`, `f16` or `f32` in host memory, for parameters and gradients that are plain vectors.
///
/// [`HostDevice<HostTensor>`](crate::HostDevice) is its handle.
///
/// ```
/// use binade_core::{AmpTensor, DType, HostTensor};
///
/// let weights = HostTensor::from(vec![1.0_f32, 1.0 / 3.0]);
/// assert_eq!(weights.cast(DType::F16)?.to_f32(), [1.0, 0.333_251_95]);
/// # Ok::<(), binade_core::HostTypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum HostTensor {
    /// Elements of `bf16`.
    BF16(Vec<bf16>),
    /// Elements of `f16`.
    F16(Vec<f16>),
    /// Elements of `f32`.
    F32(Vec<f32>),
}

/// Error for an element type that a tensor does not support. [`HostTensor`] uses it, and your own tensor may too.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tensor cannot have elements of {0}: take a type that it has, such as f32")]
pub struct HostTypeError(pub DType);

impl Error for HostTypeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl HostTensor {
    /// Copies a slice.
    pub(crate) fn of<E: Element>(slice: &[E]) -> Self {
        let code = |x: &E| x.to_code();
        match E::DTYPE {
            DType::BF16 => Self::BF16(slice.iter().map(|x| Element::from_code(code(x))).collect()),
            DType::F16 => Self::F16(slice.iter().map(|x| Element::from_code(code(x))).collect()),
            _ => Self::F32(slice.iter().map(|x| x.to_f32()).collect()),
        }
    }

    /// Returns the elements, widened.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::BF16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F32(elements) => elements.clone(),
        }
    }
}

impl From<Vec<bf16>> for HostTensor {
    fn from(elements: Vec<bf16>) -> Self {
        Self::BF16(elements)
    }
}

impl From<Vec<f16>> for HostTensor {
    fn from(elements: Vec<f16>) -> Self {
        Self::F16(elements)
    }
}

impl From<Vec<f32>> for HostTensor {
    fn from(elements: Vec<f32>) -> Self {
        Self::F32(elements)
    }
}

impl AmpTensor for HostTensor {
    type Error = HostTypeError;

    fn dtype(&self) -> DType {
        match self {
            Self::BF16(_) => DType::BF16,
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
        }
    }

    fn cast(&self, to: DType) -> Result<Self, HostTypeError> {
        if to == self.dtype() {
            return Ok(self.clone());
        }
        let values = self.to_f32().into_iter();
        match to {
            DType::BF16 => Ok(Self::BF16(values.map(bf16::from_f32).collect())),
            DType::F16 => Ok(Self::F16(values.map(f16::from_f32).collect())),
            DType::F32 => Ok(Self::F32(values.collect())),
            other => Err(HostTypeError(other)),
        }
    }

    fn shape(&self) -> Option<Vec<usize>> {
        Some(vec![match self {
            Self::BF16(elements) => elements.len(),
            Self::F16(elements) => elements.len(),
            Self::F32(elements) => elements.len(),
        }])
    }

    fn from_f32(values: &[f32], _: &[usize]) -> Option<Self> {
        Some(Self::F32(values.to_vec()))
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        match self {
            Self::BF16(elements) => map(elements, f),
            Self::F16(elements) => map(elements, f),
            Self::F32(elements) => map(elements, f),
        }
    }
}

fn map<E: Element>(elements: &mut [E], f: &mut dyn FnMut(usize, f32) -> f32) {
    for (index, x) in elements.iter_mut().enumerate() {
        *x = E::from_f32(f(index, x.to_f32()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_three_types_are_tensors_of_these() {
        let tensors: [HostTensor; 3] = [
            vec![bf16::from_f32(0.5); 2].into(),
            vec![f16::from_f32(0.5); 2].into(),
            vec![0.5_f32; 2].into(),
        ];
        let types = [DType::BF16, DType::F16, DType::F32];
        for (mut tensor, dtype) in tensors.into_iter().zip(types) {
            assert_eq!((tensor.dtype(), tensor.shape()), (dtype, Some(vec![2])));
            tensor.map_f32(&mut |_, x| x + 1.0 / 3.0);
            for to in types {
                let cast = tensor.cast(to);
                assert_eq!(cast.as_ref().map(AmpTensor::dtype), Ok(to));
            }
            assert!((tensor.to_f32()[0] - 0.833_333).abs() < 4e-3, "{tensor:?}");
        }
    }
}
