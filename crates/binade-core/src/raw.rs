//! Tensors as a file has them: type, shape and bytes, on no device.

use crate::{DType, Element, Error, ErrorKind};
use half::{bf16, f16};
use std::{fmt, ops::Range, sync::Arc};

/// Type and shape of a tensor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TensorSpec {
    /// Type of the elements.
    pub dtype: DType,
    /// Extent of each axis, slowest first.
    pub shape: Vec<usize>,
}

impl TensorSpec {
    /// Creates a form of this type and shape.
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>) -> Self {
        Self { dtype, shape: shape.into() }
    }

    /// Returns the number of elements; `None` beyond the range of memory.
    pub fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |product, side| product.checked_mul(*side))
    }

    /// Returns the number of bytes; `None` beyond the range of memory.
    pub fn bytes(&self) -> Option<usize> {
        self.elements()?.checked_mul(self.dtype.bytes())
    }
}

impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.dtype, self.shape)
    }
}

/// Tensor as a file has it: the little-endian bytes of its elements, in row-major order. A rank that keeps a slice of a tensor has only the bytes of
/// those elements.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RawTensor {
    spec: TensorSpec,
    bytes: Vec<u8>,
    /// Elements whose bytes are here; `None` for a whole tensor.
    slice: Option<Range<usize>>,
}

impl RawTensor {
    /// Creates a tensor of `spec`; `None` if it has another number of bytes.
    pub fn new(spec: TensorSpec, bytes: Vec<u8>) -> Option<Self> {
        (spec.bytes() == Some(bytes.len())).then_some(Self { spec, bytes, slice: None })
    }

    /// Creates a slice of a tensor of `spec`: the bytes of these elements. Returns `None` if the tensor has not all of them, or they have
    /// another number of bytes.
    pub fn of_slice(spec: TensorSpec, elements: Range<usize>, bytes: Vec<u8>) -> Option<Self> {
        let is_within = elements.start <= elements.end && elements.end <= spec.elements()?;
        let is_filled = is_within && elements.len() * spec.dtype.bytes() == bytes.len();
        is_filled.then_some(Self { spec, bytes, slice: Some(elements) })
    }

    /// Returns a slice of this tensor; `None` if not all of these elements are here.
    pub fn slice(&self, elements: Range<usize>) -> Option<Self> {
        let (own, width) = (self.elements(), self.spec.dtype.bytes());
        let first = elements.start.checked_sub(own.start)?;
        let bytes = self.bytes.get(first * width..(first + elements.len()) * width)?;
        Self::of_slice(self.spec.clone(), elements, bytes.to_vec())
    }

    /// Returns true if it was created as a slice, even one of all elements.
    pub fn is_slice(&self) -> bool {
        self.slice.is_some()
    }

    /// Returns the places of the elements whose bytes are here.
    pub fn elements(&self) -> Range<usize> {
        self.slice.clone().unwrap_or(0..self.bytes.len() / self.spec.dtype.bytes())
    }

    /// Creates a tensor of `values`, each rounded once to the form's type, to nearest even. Returns `None` if the shape has
    /// another number of elements, or the type is none of bf16, f16 and f32.
    pub fn from_f32(spec: TensorSpec, values: &[f32]) -> Option<Self> {
        let bytes = match spec.dtype {
            DType::BF16 => values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
            DType::F16 => values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            DType::F32 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => return None,
        };
        Self::new(spec, bytes)
    }

    /// Returns the elements that are here, widened exactly; `None` if the type is none of bf16, f16 and f32.
    pub fn to_f32(&self) -> Option<Vec<f32>> {
        match self.spec.dtype {
            DType::BF16 => Some(self.each(|bytes| Element::to_f32(bf16::from_le_bytes(bytes)))),
            DType::F16 => Some(self.each(|bytes| Element::to_f32(f16::from_le_bytes(bytes)))),
            DType::F32 => Some(self.each(f32::from_le_bytes)),
            _ => None,
        }
    }

    fn each<const N: usize>(&self, element: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        let (chunks, _) = self.bytes.as_chunks::<N>();
        chunks.iter().map(|chunk| element(*chunk)).collect()
    }

    /// Returns the type and shape of the whole tensor.
    pub fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    /// Returns the bytes of the elements that are here.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Error of a saved tensor that does not fit its target.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the {what} of `{parameter}`: found {}, expected {}; {}", told(found.as_ref()), told(expected.as_ref()),
    advice(found.as_ref(), expected.as_ref())
)]
pub struct SpecMismatch {
    /// Kind of the tensor: `parameter`, `master`, the name of a moment.
    pub what: String,
    /// Name of the parameter.
    pub parameter: Arc<str>,
    /// Form of the saved tensor, if there is one.
    pub found: Option<TensorSpec>,
    /// Form of its target, if there is one.
    pub expected: Option<TensorSpec>,
}

impl SpecMismatch {
    /// Checks a saved form against that of its target.
    ///
    /// # Errors
    ///
    /// This, where they differ.
    pub fn check(
        what: &str,
        parameter: &Arc<str>,
        found: Option<&TensorSpec>,
        expected: Option<&TensorSpec>,
    ) -> Result<(), Self> {
        if found == expected {
            return Ok(());
        }
        let (what, parameter) = (what.to_owned(), parameter.clone());
        Err(Self { what, parameter, found: found.cloned(), expected: expected.cloned() })
    }

    /// Checks that a saved tensor has the bytes of these elements.
    ///
    /// # Errors
    ///
    /// This, if it is a slice without some of them.
    pub fn check_elements(
        what: &str,
        parameter: &Arc<str>,
        raw: &RawTensor,
        elements: &Range<usize>,
    ) -> Result<(), Self> {
        let own = raw.elements();
        if elements.is_empty() || own.start <= elements.start && elements.end <= own.end {
            return Ok(());
        }
        let TensorSpec { dtype, shape } = raw.spec();
        let found = Some(TensorSpec::new(*dtype, [own.len()]));
        let what = format!("slice {own:?} of the {what}");
        let expected = if elements.len() == raw.spec().elements().unwrap_or_default() {
            shape.clone()
        } else {
            vec![elements.len()]
        };
        let expected = Some(TensorSpec::new(*dtype, expected));
        Err(Self { what, parameter: parameter.clone(), found, expected })
    }
}

/// Error of saved state that was not loaded. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum LoadError<E> {
    /// Saved tensor that does not fit its target.
    #[error(transparent)]
    SpecMismatch(#[from] SpecMismatch),
    /// Error of the device.
    #[error(transparent)]
    Device(E),
}

impl Error for SpecMismatch {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

fn told(spec: Option<&TensorSpec>) -> String {
    spec.map_or_else(|| "none".into(), TensorSpec::to_string)
}

fn advice(found: Option<&TensorSpec>, expected: Option<&TensorSpec>) -> &'static str {
    match (found, expected) {
        (Some(found), Some(expected)) if found.shape != expected.shape => {
            "build the model that was saved, or take another checkpoint"
        }
        (Some(_), Some(_)) => "store parameters in the type that was saved",
        _ => "build the model and the optimizer that were saved, or take another checkpoint",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_fill_the_shape_are_no_tensor() {
        let spec = |shape: &[usize]| TensorSpec::new(DType::F16, shape);
        assert!(RawTensor::new(spec(&[2, 3]), vec![0; 12]).is_some());
        assert!(RawTensor::new(spec(&[2, 3]), vec![0; 6]).is_none());
        assert!(RawTensor::new(spec(&[usize::MAX, 3]), vec![0; 12]).is_none());
        assert!(RawTensor::new(spec(&[0, usize::MAX]), Vec::new()).is_some());
        assert!(RawTensor::from_f32(TensorSpec::new(DType::I64, [1]), &[1.0]).is_none());
    }

    #[test]
    fn a_slice_has_the_bytes_of_its_elements_and_tells_their_places() {
        let spec = TensorSpec::new(DType::I32, [2, 2]);
        let whole = RawTensor::new(spec.clone(), (0..16).collect()).unwrap();
        assert!(!whole.is_slice() && whole.elements() == (0..4));
        let slice = whole.slice(1..4).unwrap();
        assert!(slice.is_slice() && slice.elements() == (1..4) && slice.spec() == &spec);
        assert_eq!(slice.bytes(), &whole.bytes()[4..]);
        assert_eq!(slice.slice(2..3).unwrap().bytes(), &whole.bytes()[8..12]);
        assert_eq!(slice.slice(4..4).unwrap().bytes(), []);
        assert!(slice.slice(0..2).is_none() && slice.slice(3..5).is_none());
        assert!(whole.slice(0..4).unwrap().is_slice());
        assert!(RawTensor::of_slice(spec.clone(), 3..5, vec![0; 8]).is_none());
        assert!(RawTensor::of_slice(spec, 1..2, vec![0; 8]).is_none());
    }

    #[test]
    fn the_bytes_are_little_endian_and_f32_keeps_its_bits() {
        let values = [1.0, -2.5, f32::NAN, 1e-45];
        let raw = RawTensor::from_f32(TensorSpec::new(DType::F32, [2, 2]), &values).unwrap();
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(
            raw.bytes(),
            bits(&values).iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()
        );
        assert_eq!(bits(&raw.to_f32().unwrap()), bits(&values));
        let raw = RawTensor::from_f32(TensorSpec::new(DType::F16, [2]), &values[..2]).unwrap();
        assert_eq!(raw.bytes(), [0x00, 0x3c, 0x00, 0xc1]);
        assert_eq!(
            RawTensor::new(TensorSpec::new(DType::I64, [1]), vec![0; 8]).unwrap().to_f32(),
            None
        );
    }

    #[test]
    fn a_misfit_names_the_tensor_both_forms_and_what_to_do() {
        let (two, three) = (TensorSpec::new(DType::F16, [2]), TensorSpec::new(DType::F32, [3]));
        let misfit =
            SpecMismatch::check("master", &"w".into(), Some(&two), Some(&three)).unwrap_err();
        assert_eq!(
            misfit.to_string(),
            "the master of `w`: found f16 [2], expected f32 [3]; build the model that was saved, or take another checkpoint"
        );
        let raw = RawTensor::new(three.clone(), vec![0; 12]).unwrap();
        let check = |raw: &RawTensor, elements| {
            SpecMismatch::check_elements("master", &"w".into(), raw, &elements)
        };
        let slice = raw.slice(1..3).unwrap();
        for (raw, elements) in [(&raw, 0..3), (&slice, 2..3), (&slice, 0..0)] {
            assert_eq!(check(raw, elements), Ok(()));
        }
        let told = check(&slice, 0..3).unwrap_err().to_string();
        assert!(
            told.starts_with(
                "the slice 1..3 of the master of `w`: found f32 [2], expected f32 [3];"
            ),
            "{told}"
        );
        assert!(check(&slice, 0..2).is_err());
        let none = SpecMismatch::check("master", &"w".into(), None, Some(&three)).unwrap_err();
        assert_eq!(
            none.to_string(),
            "the master of `w`: found none, expected f32 [3]; build the model and the optimizer that were saved, or take another \
             checkpoint"
        );
        let wide = TensorSpec::new(DType::F32, [2]);
        let dtype =
            SpecMismatch::check("parameter", &"w".into(), Some(&wide), Some(&two)).unwrap_err();
        assert_eq!(
            dtype.to_string(),
            "the parameter of `w`: found f32 [2], expected f16 [2]; store parameters in the type that was saved"
        );
    }
}
