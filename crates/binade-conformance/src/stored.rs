//! A tensor as bits, on the kit's side.

use crate::{Layout, cases::cast};
use binade_core::DType;
use std::fmt;

/// Elements of a tensor as the little-endian bytes of their codes, as exchanged with a subject.
#[derive(Clone, PartialEq)]
pub(crate) struct Stored {
    /// The element type.
    pub(crate) dtype: DType,
    /// The extent of each axis, slowest first.
    pub(crate) shape: Vec<usize>,
    /// The elements in row-major order.
    pub(crate) bytes: Vec<u8>,
    /// Layout in the subject's buffer.
    pub(crate) layout: Layout,
}

impl Stored {
    /// A tensor of bytes, row after row.
    pub(crate) fn from_bytes(dtype: DType, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self { dtype, shape: shape.to_vec(), bytes, layout: Layout::Offset(0) }
    }

    /// Returns the tensor as a view of this layout. A vector becomes a matrix if the layout needs one.
    pub(crate) fn view(self, layout: Layout) -> Self {
        let length = self.len();
        let rows = (2..).take_while(|rows| rows * rows <= length);
        let rows = rows.filter(|rows| length.is_multiple_of(*rows)).last();
        match (layout, rows) {
            (Layout::Offset(_), _) | (_, None) => Self { layout, ..self },
            (_, Some(rows)) => Self { layout, shape: vec![rows, length / rows], ..self },
        }
    }

    /// A tensor of codes.
    pub(crate) fn from_codes(
        dtype: DType,
        shape: &[usize],
        codes: impl IntoIterator<Item = u64>,
    ) -> Self {
        let (codes, width) = (codes.into_iter(), dtype.bytes());
        let mut bytes = Vec::with_capacity(codes.size_hint().0 * width);
        codes.for_each(|code| bytes.extend_from_slice(&code.to_le_bytes()[..width]));
        Self::from_bytes(dtype, shape, bytes)
    }

    /// A tensor of values, each rounded once.
    pub(crate) fn from_values(
        dtype: DType,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::from_codes(dtype, shape, values.into_iter().map(|x| cast::round(x, dtype)))
    }

    /// A vector of values, each rounded once.
    pub(crate) fn vector(dtype: DType, values: impl IntoIterator<Item = f64>) -> Self {
        Self::code_vector(dtype, values.into_iter().map(|x| cast::round(x, dtype)))
    }

    /// A vector of codes.
    pub(crate) fn code_vector(dtype: DType, codes: impl IntoIterator<Item = u64>) -> Self {
        let mut vector = Self::from_codes(dtype, &[], codes);
        vector.shape = vec![vector.len()];
        vector
    }

    /// Returns the tensor with another value at `index`, if it has that element.
    pub(crate) fn with(&self, index: usize, value: f64) -> Self {
        let mut values: Vec<f64> = self.values().collect();
        values.get_mut(index).into_iter().for_each(|element| *element = value);
        Self::from_values(self.dtype, &self.shape, values)
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.dtype.bytes()
    }

    /// Each element's bits.
    pub(crate) fn codes(&self) -> impl Iterator<Item = u64> + '_ {
        let width = self.dtype.bytes();
        self.bytes.chunks_exact(width).map(move |chunk| {
            let mut code = [0; 8];
            code[..width].copy_from_slice(chunk);
            u64::from_le_bytes(code)
        })
    }

    /// Each element's value, exactly.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.codes().map(|code| cast::value(code, self.dtype))
    }

    /// The element at `index`, as bits and value.
    pub(crate) fn element(&self, index: usize) -> String {
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
