//! Implementation of Binade's contract by a model of arrays whose element type is a type parameter: a cast, and its slices.

use binade::core::{Element, Named, StaticCast, StaticSet};
use ndarray::{Array, Array1, Array2, Dimension};

/// Two layers, or their gradients, which have the same shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp<E> {
    /// Weight of the first layer, outputs by inputs, and its bias.
    pub hidden: (Array2<E>, Array1<E>),
    /// Weight and bias of the second layer.
    pub out: (Array2<E>, Array1<E>),
}

/// Casts `array` to elements of another type, row-major whatever its layout was.
pub fn cast<A: Element, E: Element, D: Dimension>(array: &Array<A, D>) -> Array<E, D> {
    array.as_standard_layout().mapv(|x| E::from_f32(x.to_f32()))
}

impl<A: Element, E: Element> StaticCast<E> for Mlp<A> {
    type Output = Mlp<E>;

    fn cast(&self) -> Mlp<E> {
        let layer = |(weight, bias): &(_, _)| (cast(weight), cast(bias));
        Mlp { hidden: layer(&self.hidden), out: layer(&self.out) }
    }
}

impl<E: Element> StaticSet for Mlp<E> {
    type Element = E;

    fn slices(&mut self) -> Vec<Named<&mut [E]>> {
        let slices = [
            ("hidden.weight", self.hidden.0.as_slice_mut()),
            ("hidden.bias", self.hidden.1.as_slice_mut()),
            ("out.weight", self.out.0.as_slice_mut()),
            ("out.bias", self.out.1.as_slice_mut()),
        ];
        // An array that is not row-major would be reported missing; `cast` leaves none so.
        slices.map(|(name, slice)| Named::new(name, slice.unwrap_or_default())).into()
    }
}
