//! Tensors in host memory.

mod bits;
mod cast_into;
mod elements;
mod stochastic_cast;

pub use elements::Stored;

use crate::{Cpu, Error};
use binade_autocast::Autocast;
use binade_core::ops::{OpInvocation, shape::element_count};
use binade_core::{DType, TensorSpec};
use elements::Data;
use ndarray::{ArcArray, ArrayD, IxDyn};
use std::{
    borrow::Cow,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

/// Tensor in host memory: row-major, of any element type, cheap to clone, copied when a shared one is written to.
#[derive(Clone)]
pub struct Tensor {
    /// Elements, always in standard layout.
    data: Data,
    stamp: u64,
}

impl Drop for Tensor {
    fn drop(&mut self) {
        self.data.recycle();
    }
}

/// Returns the next stamp, unique in the process.
fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns `values` as an array of `shape`.
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
    /// Creates a tensor of `values` in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if the number of values does not match `shape`.
    pub fn new<E: Stored>(values: Vec<E>, shape: &[usize]) -> Result<Self, Error> {
        shaped(values, shape).map(Self::from)
    }

    /// Creates a tensor without axes.
    pub fn scalar<E: Stored>(value: E) -> Self {
        ndarray::arr0(value).into_dyn().into()
    }

    fn from_data(data: Data) -> Self {
        Self { data, stamp: next_stamp() }
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// Returns the extent of each axis, slowest first.
    pub fn shape(&self) -> &[usize] {
        self.data.shape()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        element_count(self.shape())
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the stamp of the contents: tensors of equal stamps hold equal elements, and a write gives another stamp.
    ///
    /// Values computed from a tensor may be cached under its stamp for the lifetime of the process.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Returns the elements in row-major order; `None` if they are of another type than `E`.
    pub fn as_slice<E: Stored>(&self) -> Option<&[E]> {
        E::array(&self.data)?.as_slice()
    }

    /// Returns the elements in row-major order for writing; they are copied first if other tensors share them.
    pub fn as_mut_slice<E: Stored>(&mut self) -> Option<&mut [E]> {
        let array = E::array_mut(&mut self.data)?;
        self.stamp = next_stamp();
        array.as_slice_mut()
    }

    /// Returns the array behind it, shared; `None` if the elements are of another type than `E`.
    pub fn to_array<E: Stored>(&self) -> Option<ArcArray<E, IxDyn>> {
        E::array(&self.data).cloned()
    }

    /// Returns the elements under another shape.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements would change.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        let call = OpInvocation::Reshape { shape: shape.to_vec() };
        let TensorSpec { shape, .. } = call.check(&[(self.dtype(), self.shape())])?;
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
    /// Prints the type and shape, without the elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?})", self.dtype(), self.shape())
    }
}

/// Keeps no casts. A bare tensor cannot tell a parameter from an activation, and keeping casts of activations would hold a whole forward pass in
/// memory twice. A tape distinguishes the two.
impl Autocast for Cpu {
    fn dtype(&self, tensor: &Tensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        tensor.cast(to)
    }

    /// A write to a tensor is seen by no clone.
    fn version(&self, _tensor: &Tensor) -> Option<u64> {
        Some(0)
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.shape().into())
    }
}
