//! A tensor as bits, on the kit's side.

use crate::cases::cast;
use binade_core::DType;
use std::fmt;

/// The elements of a tensor as the little-endian bytes of their codes: what goes into a subject and comes out of it.
#[derive(Clone, PartialEq)]
pub struct Stored {
    /// The element type.
    pub dtype: DType,
    /// The extent of each axis, slowest first.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub bytes: Vec<u8>,
}

impl Stored {
    /// A tensor of codes.
    pub fn from_codes(dtype: DType, shape: &[usize], codes: impl IntoIterator<Item = u64>) -> Self {
        let bytes =
            codes.into_iter().flat_map(|code| code.to_le_bytes().into_iter().take(dtype.bytes()));
        Self { dtype, shape: shape.to_vec(), bytes: bytes.collect() }
    }

    /// A tensor of values, each rounded once.
    pub fn from_values(
        dtype: DType,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::from_codes(dtype, shape, values.into_iter().map(|x| cast::round(x, dtype)))
    }

    /// A vector of values, each rounded once.
    pub fn vector(dtype: DType, values: impl IntoIterator<Item = f64>) -> Self {
        Self::code_vector(dtype, values.into_iter().map(|x| cast::round(x, dtype)))
    }

    /// A vector of codes.
    pub(crate) fn code_vector(dtype: DType, codes: impl IntoIterator<Item = u64>) -> Self {
        let mut vector = Self::from_codes(dtype, &[], codes);
        vector.shape = vec![vector.len()];
        vector
    }

    /// The tensor with another value in one place, if it has that.
    pub(crate) fn with(&self, index: usize, value: f64) -> Self {
        let mut values: Vec<f64> = self.values().collect();
        values.get_mut(index).into_iter().for_each(|element| *element = value);
        Self::from_values(self.dtype, &self.shape, values)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.bytes()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Each element's bits.
    pub fn codes(&self) -> impl Iterator<Item = u64> + '_ {
        self.bytes
            .chunks_exact(self.dtype.bytes())
            .map(|chunk| chunk.iter().rev().fold(0, |code, byte| (code << 8) | u64::from(*byte)))
    }

    /// Each element's value, exactly.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.codes().map(|code| cast::value(code, self.dtype))
    }

    /// The element at `index`, as bits and value.
    pub fn element(&self, index: usize) -> String {
        match self.codes().nth(index) {
            Some(code) => show(code, self.dtype),
            None => "nothing".to_owned(),
        }
    }
}

/// `0x3c00 (1)`.
pub(crate) fn show(code: u64, dtype: DType) -> String {
    let width = 2 + 2 * dtype.bytes();
    if dtype == DType::I64 {
        return format!("{code:#0width$x} ({})", code.cast_signed());
    }
    format!("{code:#0width$x} ({:e})", cast::value(code, dtype))
}

impl fmt::Debug for Stored {
    /// The type, the shape, and the bits of the first elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "{}{:?} [", self.dtype, self.shape)?;
        let width = 2 + 2 * self.dtype.bytes();
        for (index, code) in self.codes().take(SHOWN).enumerate() {
            write!(f, "{}{code:#0width$x}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.len() > SHOWN { ", …]" } else { "]" })
    }
}
