//! Trait that a device implements for autocast.

use binade_core::{AmpTensor, DType, Handle, HostDevice, HostDeviceError};
use std::borrow::Cow;

/// Identity of a tensor's contents, which must not change while a cached cast is valid.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct CacheKey {
    /// Number of the tensor; never given to another while the process lives.
    pub id: u64,
    /// Number that changes with each change in place.
    pub version: u64,
    /// True if a cast made now would carry gradients: the tensor wants them, and they are not switched off.
    pub grad: bool,
}

/// Device that knows the element types of its tensors and can cast them.
///
/// # For implementers
///
/// * `cast` rounds once, to nearest even, and is differentiable where the tensor is.
/// * `cast` keeps no count and no cache: it is called only where a cast is due.
/// * `cache_key` is for parameters: long-lived, and used more than once in a region. A tensor whose version cannot be
///   told gives `None`, since its cast could go stale.
/// * `version` counts a write once the write is ordered before later casts, so that no cast of older elements has a newer version.
///
/// # Examples
///
/// ```
/// use binade_autocast::Autocast;
/// use binade_core::{DType, Handle, TrainError, cast};
///
/// /// Elements in `f32`, rounded to a type.
/// #[derive(Clone)]
/// struct Tensor(DType, Vec<f32>);
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = Tensor;
///     type Error = TrainError;
/// }
///
/// impl Autocast for Host {
///     fn dtype(&self, tensor: &Tensor) -> DType {
///         tensor.0
///     }
///
///     fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, TrainError> {
///         let unsupported = || TrainError::unsupported::<Self>("Autocast::cast");
///         let round = |x: &f32| cast::round(*x, to, cast::OnOverflow::NonFinite);
///         let elements = tensor.1.iter().map(round).collect::<Option<_>>();
///         Ok(Tensor(to, elements.ok_or_else(unsupported)?))
///     }
/// }
///
/// let third = Host.cast(&Tensor(DType::F32, vec![1.0 / 3.0]), DType::BF16)?;
/// assert_eq!((Host.dtype(&third), third.1), (DType::BF16, vec![0.333_984_38]));
/// # Ok::<(), TrainError>(())
/// ```
pub trait Autocast: Handle<Tensor: Clone> {
    /// Returns the current element type.
    fn dtype(&self, tensor: &Self::Tensor) -> DType;

    /// Returns a copy with another element type.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the device has no such type.
    fn cast(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Self::Error>;

    /// Returns the key to cache a cast of `tensor` under; `None`, the default, disables caching.
    fn cache_key(&self, tensor: &Self::Tensor) -> Option<CacheKey> {
        let _ = tensor;
        None
    }

    /// Returns the number of writes to the elements that clones of `tensor` have seen; a device whose clones see no write returns 0.
    ///
    /// A tape keeps casts of parameters under it. `None`, the default, says that writes are not counted, and disables that cache.
    fn version(&self, tensor: &Self::Tensor) -> Option<u64> {
        let _ = tensor;
        None
    }

    /// Returns the extent of each axis, slowest first, for policies that go by sizes; `None`, the default, if they are unknown.
    /// Such policies then get no sizes: see [`OpCall::with_shapes`](binade_cast_policy::OpCall::with_shapes).
    fn extents<'t>(&self, tensor: &'t Self::Tensor) -> Option<Cow<'t, [usize]>> {
        let _ = tensor;
        None
    }

    /// Returns the number of elements, for policies and for the statistics's bytes; `None` if it is unknown.
    fn elements(&self, tensor: &Self::Tensor) -> Option<u64> {
        let extents = self.extents(tensor)?;
        extents.iter().try_fold(1_u64, |product, &len| product.checked_mul(len.try_into().ok()?))
    }
}

impl<T: AmpTensor> Autocast for HostDevice<T> {
    fn dtype(&self, tensor: &T) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &T, to: DType) -> Result<T, HostDeviceError<T::Error>> {
        Ok(tensor.cast(to)?)
    }

    fn extents<'t>(&self, tensor: &'t T) -> Option<Cow<'t, [usize]>> {
        tensor.shape().map(Cow::Owned)
    }
}
