//! An optimizer of the user's own, from a closure.

use binade_core::{
    AmpTensor as _, DType, Error as _, ErrorKind, FoundInf, GradSet as _, HostDevice,
    HostDeviceError, HostOptimizer, HostTensor, Named, NamedGrads, Optimizer, TrainError,
};
use half::bf16;

type Device = HostDevice<HostTensor>;

fn grads(values: [Option<f32>; 2]) -> NamedGrads<HostTensor> {
    let grad = |value| HostTensor::from(vec![bf16::from_f32(value)]);
    let one = |(name, value): (&str, Option<f32>)| Named::new(name, value.map(grad));
    ["a", "b"].into_iter().zip(values).map(one).collect()
}

#[test]
fn a_step_that_is_not_skipped_reaches_the_closure_in_f32_and_a_missing_gradient_stays_missing() {
    let mut raised = FoundInf::default();
    raised.check(&"a".into(), 0, f32::INFINITY, f32::INFINITY);
    let halted = FoundInf { halted: true, ..FoundInf::default() };
    let mut seen = Vec::new();
    let mut optimizer = HostOptimizer::new(Device::new(), |grads| {
        seen.push(grads);
        Ok(())
    });
    for found in [&raised, &FoundInf::default(), &halted] {
        assert_eq!(Device::new().is_raised(found).unwrap(), found.is_raised());
        optimizer.step(grads([Some(0.5), None]), found).unwrap();
    }
    assert_eq!(optimizer.skipped, 2);
    assert!(format!("{optimizer:?}").contains("skipped: 2"));
    let expected = [("a", Some(HostTensor::from(vec![0.5_f32]))), ("b", None)];
    assert_eq!(seen, [expected.map(|(name, value)| Named::new(name, value))]);
}

#[test]
fn a_set_without_any_gradient_is_an_error_and_never_reaches_the_users_optimizer() {
    let mut calls = 0;
    let mut optimizer = HostOptimizer::new(Device::new(), |_| {
        calls += 1;
        Ok(())
    });
    let error = optimizer.step(grads([None, None]), &FoundInf::default()).unwrap_err();
    let HostDeviceError::Train(error) = error else { panic!("{error}") };
    assert_eq!(error, TrainError::NoGradients { parameters: 2 });
    optimizer.step(Vec::new(), &FoundInf::default()).unwrap();
    assert_eq!((optimizer.skipped, calls), (0, 1), "a set without parameters is stepped with");
}

#[test]
fn a_borrowed_and_a_boxed_optimizer_step_and_fail_as_it_does() {
    fn step<O>(mut optimizer: O, value: f32) -> Result<(), O::Error>
    where
        O: Optimizer<NamedGrads<HostTensor>, FoundInf>,
    {
        optimizer.step(grads([Some(value), None]), &FoundInf::default())
    }
    let mut optimizer = HostOptimizer::new(Device::new(), |grads: NamedGrads<HostTensor>| {
        let refused = grads[0].value.as_ref().expect("a gradient").cast(DType::I64);
        if grads[0].value == Some(HostTensor::from(vec![1.0_f32])) {
            return Ok(());
        }
        Err(refused.map(drop).expect_err("no integers").into())
    });
    step(&mut optimizer, 1.0).unwrap();
    assert_eq!(step(&mut optimizer, 2.0).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut boxed = Box::new(optimizer);
    step(&mut boxed, 1.0).unwrap();
    assert!(step(boxed, 2.0).is_err());
}
