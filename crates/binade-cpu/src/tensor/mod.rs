//! A tensor in host memory.

mod bits;
mod convert;
mod slices;
mod stochastic_cast;
mod stored;

pub use stored::Stored;

use crate::Error;
use binade_core::DType;
use binade_ops::shape::element_count;
use ndarray::{ArcArray, ArrayD, IxDyn};
use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};
use stored::Data;

/// A tensor in host memory: row-major, of any element type, cheap to clone, copied when a shared one is written to.
#[derive(Clone)]
pub struct Tensor {
    /// In standard layout, always.
    data: Data,
    stamp: u64,
}

/// The next stamp. No two are equal while the process lives.
fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// `values` as an array of `shape`.
fn shaped<A>(values: Vec<A>, shape: &[usize]) -> Result<ArrayD<A>, Error> {
    let (found, expected) = (values.len(), element_count(shape));
    ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|_| Error::Length {
        what: "elements",
        found,
        shape: shape.to_vec(),
        expected,
    })
}

impl Tensor {
    /// A tensor of `values` in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says.
    pub fn new<E: Stored>(values: Vec<E>, shape: &[usize]) -> Result<Self, Error> {
        shaped(values, shape).map(Self::from)
    }

    /// A tensor without axes.
    pub fn scalar<E: Stored>(value: E) -> Self {
        ndarray::arr0(value).into_dyn().into()
    }

    fn from_data(data: Data) -> Self {
        Self { data, stamp: next_stamp() }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// The extent of each axis, slowest first.
    pub fn shape(&self) -> &[usize] {
        self.data.shape()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        element_count(self.shape())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names the contents: tensors of equal stamps hold equal elements, and what is written to gets another stamp.
    ///
    /// What is computed from a tensor may be kept under its stamp for as long as the process lives.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The elements in row-major order; `None` where they are of another type than `E`.
    pub fn as_slice<E: Stored>(&self) -> Option<&[E]> {
        E::array(&self.data)?.as_slice()
    }

    /// The elements in row-major order, to be changed: copied first where other tensors share them.
    pub fn as_mut_slice<E: Stored>(&mut self) -> Option<&mut [E]> {
        let array = E::array_mut(&mut self.data)?;
        self.stamp = next_stamp();
        array.as_slice_mut()
    }

    /// The array behind it, shared; `None` where the elements are of another type than `E`.
    pub fn to_array<E: Stored>(&self) -> Option<ArcArray<E, IxDyn>> {
        E::array(&self.data).cloned()
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] where the number of elements would change.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        let shape = binade_ops::shape::reshape(self.shape(), shape)?;
        Ok(Self { data: self.data.reshape(&shape), stamp: next_stamp() })
    }
}

impl<E: Stored> From<ArrayD<E>> for Tensor {
    fn from(array: ArrayD<E>) -> Self {
        let array = if array.is_standard_layout() {
            array
        } else {
            array.as_standard_layout().into_owned()
        };
        Self::from_data(E::data(array.into_shared()))
    }
}

impl fmt::Debug for Tensor {
    /// The type and shape; elements are for whoever asks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?})", self.dtype(), self.shape())
    }
}
