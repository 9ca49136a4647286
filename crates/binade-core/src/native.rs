//! Foreign host tensors: one trait to implement, and a handle that then has every capability.

use crate::{
    DType, Error, ErrorKind, FoundInf, GradSet, Handle, Named, NamedGrads, TrainError,
    handle::empty_handle,
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// Tensor whose elements the host can access. Implement this trait and use [`HostDevice`].
///
/// # For implementers
///
/// * `cast` rounds once, to nearest even, and is the identity on its own type.
/// * `cast` makes a copy, to the own type too: what is written to it leaves the original as it was. A `Clone` may share
///   elements with what it was cloned from.
/// * `map_f32` visits every element once, in logical (row-major) order whatever the strides, as `f32`, and stores each result,
///   rounded once.
/// * `shape` gives the extents of that order, slowest first, or `None` in every tensor.
/// * `scaled` multiplies each element in `f32`, and is differentiable where the tensor is; the provided one, which calls `cast` and
///   `map_f32`, is for tensors that are not.
/// * `from_f32` keeps every bit, and its tensor has the shape that it is given, where tensors tell theirs.
/// * A tensor with `rows` is a sparse gradient, and zero in every other row. Its `shape` is its parameter's. `map_f32` visits the elements of
///   its rows, with their index in the parameter.
///
/// # Tensors that record gradients
///
/// **Write your own `scaled`.** A handle to a tensor of a library with a graph, such as `tch::Tensor`, must multiply by the
/// library's operation: the provided method writes elements, which no graph sees, so that backward runs from the unscaled loss
/// and its gradients are then divided by the scale. Where `cast` to `f32` shares the elements of an `f32` loss, as
/// `tch::Tensor::to_kind` does, [`HostDevice`] finds that the loss itself was changed, and `scale` is an error.
pub trait AmpTensor: Clone {
    /// Error of the fallible methods.
    type Error: Error;

    /// Returns the current element type.
    fn dtype(&self) -> DType;

    /// Returns a copy with another element type.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the tensor cannot hold `to`.
    fn cast(&self, to: DType) -> Result<Self, Self::Error>;

    /// Returns the extents, slowest first. The provided method returns `None`: shapes are then not checked. Two tensors then fit if they are equally
    /// long, a matrix and its transpose among them, and cast policies that go by sizes get none.
    fn shape(&self) -> Option<Vec<usize>> {
        None
    }

    /// Replaces each element `x` at index `i` by `f(i, x)`. The index counts in row-major order, whatever the strides.
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32);

    /// Returns an `f32` tensor of `values` in row-major order, one for each element of `shape`. Optional: only several ranks need it, since a rank
    /// receives gradients that it may not have had. The provided method returns `None`.
    fn from_f32(values: &[f32], shape: &[usize]) -> Option<Self> {
        let _ = (values, shape);
        None
    }

    /// Returns the rows that a sparse gradient has, in ascending order; `None`, as provided, for a whole tensor. Optional, as are the three
    /// methods below: for frameworks that look up a few rows of a large table.
    fn rows(&self) -> Option<&[usize]> {
        None
    }

    /// Returns a whole tensor, with zeros in the rows that a sparse one lacks. The provided method returns the tensor itself.
    #[must_use]
    fn whole(self) -> Self {
        self
    }

    /// Returns a tensor of only these rows. A row that is missing from a sparse tensor is zeros. The provided method returns the tensor itself.
    #[must_use]
    fn with_rows(&self, rows: &[usize]) -> Self {
        let _ = rows;
        self.clone()
    }

    /// Puts the rows that [`with_rows`](Self::with_rows) gave, with other elements, in their places. The provided method replaces the tensor.
    fn put_rows(&mut self, rows: Self) {
        *self = rows;
    }

    /// Returns this tensor in `f32`, times `factor`.
    ///
    /// # Errors
    ///
    /// If the cast to `f32` fails.
    fn scaled(&self, factor: f32) -> Result<Self, Self::Error> {
        let mut product = self.cast(DType::F32)?;
        product.map_f32(&mut |_, x| x * factor);
        Ok(product)
    }
}

/// Error of a [`HostDevice`] tensor: the tensor's own, or one of sets that do not match.
///
/// A device with this error, lists of gradients and a `FoundInf` has clipping and snapshots on the host without implementing them. A device with its
/// own implementation has its own error type.
#[derive(Debug, thiserror::Error)]
pub enum HostDeviceError<E> {
    /// Error of the tensor.
    #[error(transparent)]
    Tensor(E),
    /// Sets that disagree about a name.
    #[error("`{parameter}`: {why}")]
    Mismatch {
        /// Name of the parameter.
        parameter: Arc<str>,
        /// Point of disagreement, and a remedy.
        why: &'static str,
    },
    /// Sets that disagree about a shape.
    #[error(
        "`{parameter}`: a gradient of shape {found:?} for {expected:?}; give it the parameter's shape: it may have to be \
         transposed"
    )]
    Shapes {
        /// Name of the parameter.
        parameter: Arc<str>,
        /// Shape that was given.
        found: Vec<usize>,
        /// Shape that fits.
        expected: Vec<usize>,
    },
    /// Sets that list different parameters at one place.
    #[error("`{first}` and `{second}`: {why}")]
    Names {
        /// Name in the first set.
        first: Arc<str>,
        /// Name in the second set.
        second: Arc<str>,
        /// Description of the sets, and a remedy.
        why: &'static str,
    },
    /// Error of training that every device has.
    #[error(transparent)]
    Train(TrainError),
    /// Error of another crate, as of a configuration that does not go with the parameters.
    #[error("{0}")]
    Refused(Box<dyn Error + Send + Sync>),
    /// Number outside an operation's domain.
    #[error("{what}: {value} given, takes {expected}")]
    Invalid {
        /// Name of the operation.
        what: &'static str,
        /// Number that was given.
        value: f64,
        /// Range that the operation accepts.
        expected: &'static str,
    },
}

impl<E> From<E> for HostDeviceError<E> {
    fn from(error: E) -> Self {
        Self::Tensor(error)
    }
}

impl<E: Error> Error for HostDeviceError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Tensor(error) => error.kind(),
            Self::Mismatch { .. } | Self::Shapes { .. } | Self::Names { .. } => ErrorKind::Mismatch,
            Self::Train(error) => error.kind(),
            Self::Refused(error) => error.kind(),
            Self::Invalid { .. } => ErrorKind::InvalidArgument,
        }
    }
}

impl<E> HostDeviceError<E> {
    /// Wraps an error of the program, such as an error of the closure passed to `backward`. Its kind is [`Other`](ErrorKind::Other).
    ///
    /// ```
    /// use binade_core::{HostDeviceError, HostTypeError};
    ///
    /// let read = || -> Result<f32, HostDeviceError<HostTypeError>> {
    ///     "3,5".parse().map_err(HostDeviceError::other)
    /// };
    /// assert_eq!(read().unwrap_err().to_string(), "invalid float literal");
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Refused(Box::new(OtherError(error.into())))
    }

    /// Checks that both tensors have equal shapes, if both tell theirs.
    ///
    /// # Errors
    ///
    /// [`Shapes`](Self::Shapes), with the shape of `found` and the one of `like`.
    pub fn same_shapes<T: AmpTensor<Error = E>>(
        parameter: &Arc<str>,
        found: &T,
        like: &T,
    ) -> Result<(), Self> {
        match (found.shape(), like.shape()) {
            (Some(found), Some(expected)) if found != expected => {
                Err(Self::Shapes { parameter: parameter.clone(), found, expected })
            }
            _ => Ok(()),
        }
    }
}

/// Error of the program's own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct OtherError(Box<dyn std::error::Error + Send + Sync>);

impl Error for OtherError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// Handle of a host tensor `T`: scales, casts and keeps masters through [`AmpTensor`].
pub struct HostDevice<T>(PhantomData<fn() -> T>);

empty_handle!(HostDevice);

impl<T: AmpTensor> Handle for HostDevice<T> {
    type Tensor = T;
    type Error = HostDeviceError<T::Error>;
}

impl<T: AmpTensor> GradSet for HostDevice<T> {
    type Params = Vec<Named<T>>;
    type Grads = NamedGrads<T>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> HostDeviceError<T::Error> {
        HostDeviceError::Train(error)
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, HostDeviceError<T::Error>> {
        Ok(found.is_raised())
    }

    fn materialise(
        &self,
        mut grads: NamedGrads<T>,
    ) -> Result<NamedGrads<T>, HostDeviceError<T::Error>> {
        for value in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
            *value = value.cast(DType::F32)?.whole();
        }
        Ok(grads)
    }
}
