//! Optimizer from a closure.

use crate::{AmpTensor, FoundInf, HostDeviceError, NamedGrads, NoGradients, Optimizer};
use std::fmt;

/// Optimizer on the host from a closure, which takes the gradients of each step that is not skipped.
///
/// The gradients are unscaled, in `f32`, in the order of the set; `None` is a missing one, whose parameter stays as it is.
///
/// ```
/// use binade_core::{FoundInf, HostTensor, Named, NamedGrads, Optimizer, OptimizerFn};
///
/// let mut weight = 1.0;
/// let mut descent = OptimizerFn(|grads: NamedGrads<HostTensor>| {
///     for grad in grads.into_iter().filter_map(|grad| grad.value) {
///         weight -= 0.1 * grad.to_f32()[0];
///     }
/// });
/// let grads = vec![Named::new("weight", Some(HostTensor::from(vec![2.0])))];
/// descent.step(grads, &FoundInf::default())?;
/// assert_eq!(weight, 0.8);
/// # Ok::<(), binade_core::HostDeviceError<binade_core::HostTypeError>>(())
/// ```
pub struct OptimizerFn<F>(
    /// Closure that takes the gradients of a step.
    pub F,
);

impl<F> fmt::Debug for OptimizerFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OptimizerFn")
    }
}

impl<T: AmpTensor, F: FnMut(NamedGrads<T>)> Optimizer<NamedGrads<T>, FoundInf> for OptimizerFn<F> {
    type Error = HostDeviceError<T::Error>;

    fn step(&mut self, grads: NamedGrads<T>, found: &FoundInf) -> Result<(), Self::Error> {
        if found.is_raised() {
            return Ok(());
        }
        let parameters = grads.len();
        if parameters > 0 && grads.iter().all(|grad| grad.value.is_none()) {
            return Err(HostDeviceError::Train(NoGradients { parameters }.into()));
        }
        (self.0)(grads);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostTensor, Named, Overflow};

    fn grads(values: [Option<f32>; 2]) -> NamedGrads<HostTensor> {
        let one = |(name, value): (&str, Option<f32>)| {
            Named::new(name, value.map(|value| HostTensor::from(vec![value])))
        };
        ["a", "b"].into_iter().zip(values).map(one).collect()
    }

    #[test]
    fn a_raised_finding_calls_nothing_and_a_set_without_gradients_is_an_error() {
        let mut calls = Vec::new();
        let mut optimizer = OptimizerFn(|grads: NamedGrads<HostTensor>| calls.push(grads));
        let fine = FoundInf::default();
        let mut raised = FoundInf::default();
        raised.check(&"a".into(), 0, f32::INFINITY, f32::INFINITY);
        assert!(matches!(raised.overflow, Some(Overflow { index: 0, .. })));
        optimizer.step(grads([Some(1.0), None]), &raised).unwrap();
        let none = optimizer.step(grads([None, None]), &fine).unwrap_err();
        assert_eq!(none.to_string(), NoGradients { parameters: 2 }.to_string());
        optimizer.step(grads([Some(1.0), None]), &fine).unwrap();
        assert_eq!(calls, [grads([Some(1.0), None])]);
    }

    #[test]
    fn a_set_without_parameters_is_stepped_with() {
        let mut calls = 0;
        let mut optimizer = OptimizerFn(|_: NamedGrads<HostTensor>| calls += 1);
        optimizer.step(Vec::new(), &FoundInf::default()).unwrap();
        assert_eq!(calls, 1);
    }

    #[test]
    fn a_borrowed_and_a_boxed_optimizer_step_and_fail_as_it_does() {
        fn step<O>(mut optimizer: O, value: Option<f32>) -> Result<(), O::Error>
        where
            O: Optimizer<NamedGrads<HostTensor>, FoundInf>,
        {
            optimizer.step(grads([value, None]), &FoundInf::default())
        }
        let mut calls = 0;
        let mut optimizer = OptimizerFn(|_: NamedGrads<HostTensor>| calls += 1);
        assert_eq!(format!("{optimizer:?}"), "OptimizerFn");
        step(&mut optimizer, Some(1.0)).unwrap();
        step(&mut optimizer, None).unwrap_err();
        let mut boxed = Box::new(optimizer);
        step(&mut boxed, Some(1.0)).unwrap();
        step(boxed, Some(1.0)).unwrap();
        assert_eq!(calls, 3);
    }
}
