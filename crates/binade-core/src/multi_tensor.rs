//! Arithmetic on whole sets of tensors, each call one pass over all of them: Apex's `multi_tensor_applier`.

use crate::{DType, GradSet, MatchError, Named, check_same_parameters};

/// Norm of a set of tensors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Norm {
    /// The root of the sum of squares.
    L2,
    /// The largest absolute value.
    Infinity,
}

/// Norms of a set of tensors, as `f32` scalars on the device.
#[derive(Clone, Debug)]
pub struct Norms<T> {
    /// Norm of all elements of all tensors together.
    pub all: T,
    /// Norm of each tensor, in the order of the set.
    pub each: Vec<Named<T>>,
}

/// Named tensors, and the found-inf result of the pass that computed them.
pub type Checked<D> = (Vec<Named<<D as crate::Handle>::Tensor>>, <D as GradSet>::Found);

/// Scale, weighted sum, norms and cast of a whole set of tensors: `multi_tensor_scale`, `multi_tensor_axpby` and `multi_tensor_l2norm` of
/// Apex's `amp_C`.
///
/// A set is a list of tensors under names, as parameters are. A device with kernels for sets launches one of them for all tensors.
///
/// # For implementers
///
/// * `scale_all` and `axpby` compute in `f32`, whatever the types of the operands, and give `f32` tensors: each product is rounded once,
///   and the sum of two products once more.
/// * The finding of `scale_all` and `axpby` is that of a pass over their results, in `f32`: raised where one is not finite, with the first in
///   the set's order, the counts and the largest finite magnitude. An element that is infinite or NaN in an operand is so in the result.
/// * Sums of squares are accumulated so that 64 M elements keep full `f32` accuracy and elements of 1e25 do not overflow. A NaN makes the
///   norms of its tensor and of all NaN, the largest absolute value too; a set without elements has norms of 0.
/// * `cast_all` rounds each element once, to nearest even. What overflows is infinite, or NaN where the type has no infinity.
/// * `assign` gives `to` the elements of `from`, in `f32`, bit for bit. Where `unless` is raised, `to` keeps its bits: the device looks, and
///   the host reads nothing.
/// * `axpby` and `assign` refuse two sets that do not list the same names and shapes in one order, as a `Mismatch`; nothing has
///   changed then.
/// * Operands keep their bits. No method waits for the device.
///
/// # Examples
///
/// ```
/// use binade_core::{GradSet, HostDevice, HostTensor, MultiTensor, Named, Norm};
///
/// let device = HostDevice::<HostTensor>::new();
/// let set = |values: [f32; 2]| vec![Named::new("weight", HostTensor::from(values.to_vec()))];
/// let (average, found) = device.axpby((0.75, &set([4.0, 8.0])), (0.25, &set([0.0, 4.0])))?;
/// assert_eq!(average[0].value.to_f32(), [3.0, 7.0]);
/// assert!(!device.is_raised(&found)?);
/// assert_eq!(device.norms(&set([3.0, 4.0]), Norm::L2)?.all.to_f32(), [5.0]);
/// # Ok::<(), binade_core::HostDeviceError<binade_core::HostTypeError>>(())
/// ```
pub trait MultiTensor: GradSet {
    /// Returns `factor * tensor` for each tensor, in `f32`, and the finding of the results.
    ///
    /// # Errors
    ///
    /// If the device fails, or has no arithmetic for an element type.
    fn scale_all(
        &self,
        factor: f32,
        tensors: &[Named<Self::Tensor>],
    ) -> Result<Checked<Self>, Self::Error>;

    /// Returns `a * x + b * y` for each pair of tensors, in `f32`, and the finding of the results.
    ///
    /// # Errors
    ///
    /// If the sets differ in names or shapes, the device fails, or it has no arithmetic for an element type.
    fn axpby(
        &self,
        x: (f32, &[Named<Self::Tensor>]),
        y: (f32, &[Named<Self::Tensor>]),
    ) -> Result<Checked<Self>, Self::Error>;

    /// Returns the norm of all elements together and of each tensor.
    ///
    /// # Errors
    ///
    /// If the device fails, or has no arithmetic for an element type.
    fn norms(
        &self,
        tensors: &[Named<Self::Tensor>],
        norm: Norm,
    ) -> Result<Norms<Self::Tensor>, Self::Error>;

    /// Returns copies of `tensors`, each in the element type at its place in `to`.
    ///
    /// # Errors
    ///
    /// If there are not as many types as tensors, the device fails, or it cannot convert between two types.
    fn cast_all(
        &self,
        tensors: &[Named<Self::Tensor>],
        to: &[DType],
    ) -> Result<Vec<Named<Self::Tensor>>, Self::Error>;

    /// Gives `to`, whose tensors are `f32`, the elements of `from`, unless `unless` is raised.
    ///
    /// # Errors
    ///
    /// If the sets differ in names or shapes, the device fails, or a tensor of `to` is not `f32`.
    fn assign(
        &self,
        to: &mut [Named<Self::Tensor>],
        from: &[Named<Self::Tensor>],
        unless: &Self::Found,
    ) -> Result<(), Self::Error>;
}

/// Checks that two sets list the same names in the same order, with equal shapes where both are known.
///
/// # Errors
///
/// An error with the first name at which they differ.
pub fn check_same_set<'a, 'b, T: 'a + 'b>(
    x: &'a [Named<T>],
    y: &'b [Named<T>],
    shape: impl Fn(&T) -> Option<&[usize]>,
) -> Result<(), MatchError> {
    const WHY: &str = "two sets must list the same tensors, of the same shapes, in the same order";
    let shape = &shape;
    let listed = |tensor: &'a Named<T>| (&tensor.name, shape(&tensor.value));
    let other = |tensor: &'b Named<T>| (&tensor.name, shape(&tensor.value));
    let same = check_same_parameters(x.iter().map(listed), y.iter().map(other));
    same.map_err(|error| MatchError { why: WHY, ..error })
}

/// Checks that there is an element type for each tensor.
///
/// # Errors
///
/// The first tensor without a type, or the last where there are too many types.
pub fn check_types<T>(tensors: &[Named<T>], to: &[DType]) -> Result<(), MatchError> {
    let why = "a cast of a set takes an element type for each of its tensors";
    let named = tensors.get(to.len()).or(tensors.last());
    let name = || named.map_or_else(|| "an empty set".into(), |tensor| tensor.name.clone());
    if tensors.len() == to.len() { Ok(()) } else { Err(MatchError { parameter: name(), why }) }
}
