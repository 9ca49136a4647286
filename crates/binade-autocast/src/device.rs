//! What a device must be able to do for autocast.

use binade_core::{AmpTensor, DType, Handle, Native, NativeError};
use std::borrow::Cow;

/// Identity of a tensor's contents: what must not change for a cached cast to be valid.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct CacheKey {
    /// The tensor; never given to another while the process lives.
    pub id: u64,
    /// Changes with each change in place.
    pub version: u64,
    /// Whether a cast made now would carry gradients: the tensor wants them, and they are not switched off.
    pub grad: bool,
}

/// Tells and changes element types.
///
/// # For implementers
///
/// * `cast` rounds once, to nearest even, and is differentiable where the tensor is.
/// * `cast` keeps no count and no cache: it is called only where a cast is due.
/// * `cache_key` is for parameters: long-lived, and used more than once in a region. A tensor whose version cannot be
///   told gives `None`, since its cast could go stale.
pub trait Autocast: Handle<Tensor: Clone> {
    /// The element type now.
    fn dtype(&self, tensor: &Self::Tensor) -> DType;

    /// A copy with another element type.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the device has no such type.
    fn cast(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Self::Error>;

    /// What to keep a cast of `tensor` under; `None`, the default, for not keeping it.
    fn cache_key(&self, tensor: &Self::Tensor) -> Option<CacheKey> {
        let _ = tensor;
        None
    }

    /// The extent of each axis, slowest first, for policies that go by sizes; `None`, the default, where that is not known:
    /// such policies are then told no [`Facts`](binade_cast_policy::Facts).
    fn extents<'t>(&self, tensor: &'t Self::Tensor) -> Option<Cow<'t, [usize]>> {
        let _ = tensor;
        None
    }

    /// How many elements it has, for policies and for the ledger's bytes; `None` where that is not known.
    fn elements(&self, tensor: &Self::Tensor) -> Option<u64> {
        let extents = self.extents(tensor)?;
        extents.iter().try_fold(1_u64, |product, &len| product.checked_mul(len.try_into().ok()?))
    }
}

impl<T: AmpTensor> Autocast for Native<T> {
    fn dtype(&self, tensor: &T) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &T, to: DType) -> Result<T, NativeError<T::Error>> {
        Ok(tensor.cast(to)?)
    }

    fn extents<'t>(&self, tensor: &'t T) -> Option<Cow<'t, [usize]>> {
        tensor.shape().map(Cow::Owned)
    }
}
