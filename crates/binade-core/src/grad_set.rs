//! The types that a device trains with, declared once for loss scaling and for master weights.

use crate::Handle;

/// The gradients of a device, with the parameters that they are of and the finding of a pass over them.
///
/// Loss scaling and master weights are implemented over these types, so that gradients which a scaler has unscaled are those
/// that an optimizer of the same device steps by.
///
/// # For implementers
///
/// * `Grads` keeps the order in which a set was given, and lists the parameters that have no gradient.
///
/// # Examples
///
/// A device whose sets are lists by name, and whose findings are values of the host:
///
/// ```
/// use binade_core::{Finding, GradSet, Handle, Named, NamedGrads};
///
/// struct Host;
///
/// impl Handle for Host {
///     type Tensor = Vec<f32>;
///     type Error = std::convert::Infallible;
/// }
///
/// impl GradSet for Host {
///     type Params = Vec<Named<Vec<f32>>>;
///     type Grads = NamedGrads<Vec<f32>>;
///     type Found = Finding;
/// }
/// ```
pub trait GradSet: Handle {
    /// The model's parameters: named tensors, a store, a module. `()` for a device that only scales losses.
    type Params;
    /// A set of gradients as the framework holds it: named tensors, a store, a module.
    type Grads;
    /// The finding of one pass over a set: raised or not, where, and which gradients were missing. Cloning is cheap.
    type Found: Clone;
}
