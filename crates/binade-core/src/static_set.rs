//! Handle of a model whose element type is a type parameter, and its gradients.

use crate::{
    AmpTensor, DType, Element, Error, ErrorKind, FoundInf, GradSet, Handle, HostDevice,
    HostDeviceError, Named, NamedGrads, StaticSet, TrainError, handle::empty_handle,
};
use std::{fmt, marker::PhantomData};

/// Handle of a model `P` whose element type is a type parameter: scales losses, which are plain `f32`, and keeps masters.
///
/// It has no autocast: a static type decides what a region decides at run time.
pub struct TypedModel<P>(PhantomData<fn() -> P>);

empty_handle!(TypedModel);

impl<P> TypedModel<P> {
    /// Returns the handle that does arithmetic on gradients once they are [`F32Grad`].
    pub const fn flat(&self) -> HostDevice<F32Grad> {
        HostDevice::new()
    }
}

impl<P> Handle for TypedModel<P> {
    type Tensor = f32;
    type Error = HostDeviceError<OnlyF32>;
}

impl<P: StaticSet> GradSet for TypedModel<P> {
    type Params = P;
    type Grads = StaticGrads<P>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> HostDeviceError<OnlyF32> {
        HostDeviceError::Train(error)
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, HostDeviceError<OnlyF32>> {
        Ok(found.is_raised())
    }
}

/// Gradients of a model `P`, as backward left them, or unscaled in `f32`: sixteen bits would lose again what scaling saved.
#[derive(Clone, Debug)]
pub enum StaticGrads<P> {
    /// Scaled gradients in the model's own type: a model whose parameters are gradients.
    Scaled(P),
    /// Unscaled gradients.
    Unscaled(NamedGrads<F32Grad>),
}

impl<P> From<P> for StaticGrads<P> {
    fn from(grads: P) -> Self {
        Self::Scaled(grads)
    }
}

impl<P: StaticSet> StaticGrads<P> {
    /// Returns the gradients by name and in `f32`; a missing one is `None`. A user's own optimizer takes these.
    pub fn into_named(self) -> NamedGrads<F32Grad> {
        let mut grads = match self {
            Self::Unscaled(grads) => return grads,
            Self::Scaled(grads) => grads,
        };
        let named = grads.slices().into_iter().map(|Named { name, value }| {
            let flat = F32Grad(value.iter().map(|x| x.to_f32()).collect());
            Named { name, value: Some(flat).filter(|flat| !flat.0.is_empty()) }
        });
        named.collect()
    }
}

/// Elements of a gradient in `f32`, as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct F32Grad(pub Vec<f32>);

/// Error for an element type other than `f32`, which [`F32Grad`] alone has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unscaled gradients are f32, and not {0}: cast what is made of them")]
pub struct OnlyF32(DType);

impl Error for OnlyF32 {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl AmpTensor for F32Grad {
    type Error = OnlyF32;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, to: DType) -> Result<Self, OnlyF32> {
        if to == DType::F32 { Ok(self.clone()) } else { Err(OnlyF32(to)) }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0.iter_mut().enumerate().for_each(|(index, x)| *x = f(index, *x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StaticCast;
    use half::f16;

    #[test]
    fn a_cast_rounds_each_element_once_to_nearest_even() {
        let wide = vec![1.0_f32 / 3.0, 65520.0, 1.0 + 2.0_f32.powi(-11), 2.0_f32.powi(-25)];
        let low: Vec<f16> = wide.cast();
        assert_eq!(low, wide.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>());
        let same: Vec<f32> = wide.cast();
        assert_eq!(same, wide);
    }

    #[derive(Clone)]
    struct Model {
        weight: Vec<f16>,
        bias: Vec<f16>,
    }

    impl StaticSet for Model {
        type Element = f16;

        fn slices(&mut self) -> Vec<Named<&mut [f16]>> {
            vec![Named::new("weight", &mut self.weight), Named::new("bias", &mut self.bias)]
        }
    }

    #[test]
    fn gradients_are_named_and_widened_and_an_empty_slice_is_a_missing_one() {
        let weight = [1.5, -0.25].map(f16::from_f32).to_vec();
        let scaled = StaticGrads::from(Model { weight, bias: Vec::new() });
        let named = scaled.into_named();
        let expected = [("weight", Some(F32Grad(vec![1.5, -0.25]))), ("bias", None)];
        assert_eq!(named, expected.map(|(name, value)| Named::new(name, value)));
        assert_eq!(StaticGrads::<Model>::Unscaled(named.clone()).into_named(), named);
    }

    #[test]
    fn flat_gradients_are_visited_in_order_and_tell_no_shape() {
        let mut flat = F32Grad(vec![1.0, 2.0, 4.0]);
        flat.map_f32(&mut |index, x| if index == 1 { -x } else { 10.0 * x });
        assert_eq!((flat.shape(), flat), (None, F32Grad(vec![10.0, -2.0, 40.0])));
    }

    #[test]
    fn a_static_handle_prints_the_model_that_it_is_for() {
        assert_eq!(
            format!("{:?}", TypedModel::<Vec<u8>>::new()),
            "TypedModel<alloc::vec::Vec<u8>>"
        );
    }

    #[test]
    fn flat_gradients_have_no_other_type() {
        let error = F32Grad(vec![1.0]).cast(DType::F16).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().starts_with("unscaled gradients are f32, and not f16"));
    }
}
