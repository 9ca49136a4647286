//! Types that a device trains with, declared once for loss scaling and for master weights.

use crate::{Handle, NamedGrads, TrainError};
use std::ops::Range;

/// Types of a device for parameters, gradients and the result of checking gradients.
///
/// Loss scaling and master weights share these types, so an optimizer of a device takes gradients unscaled by a scaler of that device.
///
/// `is_raised` and `materialise` are for optimizers that expect plain tensors; a device without them has none.
///
/// # For implementers
///
/// * `Grads` keeps the order in which a set was given, and lists the parameters that have no gradient.
/// * `train_error` keeps the error's words and its kind.
/// * `materialise` gives `f32` tensors that are unscaled and clipped.
/// * `is_raised` waits for the device: this is the price of an optimizer that cannot be predicated.
///
/// # Examples
///
/// This device's sets are lists by name, and its findings are values of the host:
///
/// ```
/// use binade_core::{FoundInf, GradSet, Handle, Named, NamedGrads, TrainError};
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = Vec<f32>;
///     type Error = TrainError;
/// }
///
/// impl GradSet for Host {
///     type Params = Vec<Named<Vec<f32>>>;
///     type Grads = NamedGrads<Vec<f32>>;
///     type Found = FoundInf;
///
///     fn train_error(&self, error: TrainError) -> TrainError {
///         error
///     }
/// }
/// ```
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait GradSet: Handle {
    /// Parameters of the model: named tensors, a store, a module. `()` for a device that only scales losses.
    type Params;
    /// Set of gradients as the framework holds it: named tensors, a store, a module.
    type Grads;
    /// Finding of one pass over a set: raised or not, its place, and the missing gradients. Cloning is cheap.
    type Found: Clone;

    /// Converts an error of training, which every device has, into the device's error type.
    fn train_error(&self, error: TrainError) -> Self::Error;

    /// Returns the range of elements of a parameter's averages, masters and moments that this device keeps, from the parameter's name and number of
    /// elements. All of them, but on one of several ranks that divide them.
    fn slice(&self, name: &str, elements: usize) -> Range<usize> {
        0..elements
    }

    /// Returns true if a step with gradients of this finding must be skipped. It reads the device, and waits for it. Optional.
    ///
    /// # Errors
    ///
    /// If the device fails; `Unsupported` by default.
    fn is_raised(&self, found: &Self::Found) -> Result<bool, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradSet::is_raised")))
    }

    /// Returns plain tensors by parameter name, in `f32`. Optional.
    ///
    /// # Errors
    ///
    /// If the device fails; `Unsupported` by default.
    fn materialise(&self, grads: Self::Grads) -> Result<NamedGrads<Self::Tensor>, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradSet::materialise")))
    }
}
