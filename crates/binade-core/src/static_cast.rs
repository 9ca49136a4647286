//! Tensors whose element type is a type parameter, as `Array<f16, D>`: casts between types, and slices.

use crate::{Element, HostTensor, Named, NamedGrads};

/// Tensor, or model of tensors, with a static element type that can be cast to another.
///
/// It is the static counterpart of [`AmpTensor::cast`](crate::AmpTensor::cast): the target is a type parameter, and the result has a different type.
/// A program implements it for its own model or tensor; a foreign tensor inside is converted there, element by element.
///
/// # For implementers
///
/// * Each element is rounded once, to nearest even, as [`Element::from_f32`] does; between equal types it keeps its bits.
/// * Shapes and the order of elements stay.
pub trait StaticCast<E: Element> {
    /// Type with elements of type `E`.
    type Output;

    /// Returns a copy with elements of type `E`.
    fn cast(&self) -> Self::Output;
}

impl<T: Element, E: Element> StaticCast<E> for Vec<T> {
    type Output = Vec<E>;

    fn cast(&self) -> Vec<E> {
        // A NaN's bits would not survive a detour through f32.
        let same = T::DTYPE == E::DTYPE;
        let cast = |x: &T| if same { E::from_code(x.to_code()) } else { E::from_f32(x.to_f32()) };
        self.iter().map(cast).collect()
    }
}

/// Parameters of a model, or their gradients, of one static element type: named slices of any ranks.
///
/// Implement it once for a model that is generic over its element type, and [`TypedModel`](crate::TypedModel) is its handle.
///
/// # For implementers
///
/// * The list is the same each time: the same names, each once, in the same order, and of the same lengths.
/// * Each slice is all of a parameter's elements, in the order in which they are stored.
/// * In a set of gradients an empty slice is a missing gradient: it is reported, and its parameter stays as it is.
pub trait StaticSet: Clone {
    /// Type of all elements.
    type Element: Element;

    /// Returns every parameter by name.
    fn slices(&mut self) -> Vec<Named<&mut [Self::Element]>>;

    /// Converts a model of gradients into a scaler's set: gradients by name, `None` for a missing one.
    fn into_grads(mut self) -> NamedGrads<HostTensor> {
        let grad = |Named { name, value }: Named<&mut [Self::Element]>| {
            Named::new(name, (!value.is_empty()).then(|| HostTensor::of(value)))
        };
        self.slices().into_iter().map(grad).collect()
    }
}
