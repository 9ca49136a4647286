//! Arithmetic on sets of tensors.

use super::{Counted, Counting};
use binade_core::{Checked, DType, GradSet, MultiTensor, Named, Norm, Norms};

impl<D: MultiTensor> MultiTensor for Counting<D> {
    fn scale_all(
        &self,
        factor: f32,
        tensors: &[Named<D::Tensor>],
    ) -> Result<Checked<Self>, Self::Error> {
        self.launch("scale_all", |device| device.scale_all(factor, tensors)).map(counted::<D>)
    }

    fn axpby(
        &self,
        x: (f32, &[Named<D::Tensor>]),
        y: (f32, &[Named<D::Tensor>]),
    ) -> Result<Checked<Self>, Self::Error> {
        self.launch("axpby", |device| device.axpby(x, y)).map(counted::<D>)
    }

    forward! {
        launch norms(tensors: &[Named<D::Tensor>], norm: Norm) -> Norms<D::Tensor>;
        launch cast_all(tensors: &[Named<D::Tensor>], to: &[DType]) -> Vec<Named<D::Tensor>>;
        launch assign(
            to: &mut [Named<D::Tensor>],
            from: &[Named<D::Tensor>],
            unless: &Self::Found => &unless.0
        ) -> ();
    }
}

fn counted<D: GradSet>((tensors, found): Checked<D>) -> Checked<Counting<D>> {
    (tensors, Counted(found))
}
