//! Handle of a model whose element type is a type parameter, and its parameters as host tensors.

use crate::{
    AmpTensor, Element, FoundInf, GradSet, Handle, HostDeviceError, HostTensor, HostTypeError,
    Named, NamedGrads, StaticSet, TrainError, handle::empty_handle,
};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// Handle for a model `P` whose element type is a type parameter. It scales losses, which are plain `f32`, and keeps masters.
///
/// Its gradients are host tensors; [`StaticSet::into_grads`] converts a model into them. It has no autocast: the static type fixes what a region
/// would decide at run time.
pub struct TypedModel<P>(PhantomData<fn() -> P>);

empty_handle!(TypedModel);

impl<P> Handle for TypedModel<P> {
    type Tensor = f32;
    type Error = HostDeviceError<HostTypeError>;
}

impl<P: StaticSet> GradSet for TypedModel<P> {
    type Params = P;
    type Grads = NamedGrads<HostTensor>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> HostDeviceError<HostTypeError> {
        HostDeviceError::Train(error)
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, HostDeviceError<HostTypeError>> {
        Ok(found.is_raised())
    }
}

/// Parameters in host memory: a list of tensors `T`, or a [`StaticSet`].
///
/// # For implementers
///
/// * `tensors` and `edit` list each parameter, in the order of the set.
pub trait HostParams<T: Clone> {
    /// Returns the parameters as tensors.
    fn tensors(&self) -> Cow<'_, [Named<T>]>;

    /// Calls `change` with the parameters, and stores the changed parameters.
    fn edit<R>(&mut self, change: impl FnOnce(&mut [Named<T>]) -> R) -> R;
}

impl<T: AmpTensor> HostParams<T> for Vec<Named<T>> {
    fn tensors(&self) -> Cow<'_, [Named<T>]> {
        self.into()
    }

    fn edit<R>(&mut self, change: impl FnOnce(&mut [Named<T>]) -> R) -> R {
        change(self)
    }
}

impl<P: StaticSet> HostParams<HostTensor> for P {
    fn tensors(&self) -> Cow<'_, [Named<HostTensor>]> {
        let mut own = self.clone();
        let tensor = |Named { name, value }: Named<&mut [P::Element]>| {
            Named::new(name, HostTensor::of(value))
        };
        own.slices().into_iter().map(tensor).collect::<Vec<_>>().into()
    }

    fn edit<R>(&mut self, change: impl FnOnce(&mut [Named<HostTensor>]) -> R) -> R {
        let mut tensors = self.tensors().into_owned();
        let result = change(&mut tensors);
        for (slice, tensor) in self.slices().into_iter().zip(&tensors) {
            P::Element::narrow(&tensor.value.to_f32(), slice.value);
        }
        result
    }
}

#[cfg(test)]
mod tests {
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
}
