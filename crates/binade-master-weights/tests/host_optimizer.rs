//! An optimizer of the user's own, behind the wrapper.

use crate::common::{ALL, Host, fine, grads, raised};
use binade_core::{
    DType, Error as _, GradSet as _, HostDevice, HostDeviceError, NoGradients, Optimizer as _,
    TrainError,
};
use binade_master_weights::HostOptimizer;

#[test]
fn gradients_reach_the_users_optimizer_in_f32() {
    for dtype in ALL {
        let mut seen = Vec::new();
        let mut optimizer = HostOptimizer::new(HostDevice::<Host>::new(), |grads| {
            seen.push(grads);
            Ok(())
        });
        optimizer.step(grads(dtype, [("w", &[0.1, 3.0][..])]), &fine()).unwrap();
        let expected = Host { dtype: DType::F32, data: Host::new(dtype, &[0.1, 3.0]).data };
        assert_eq!(optimizer.skipped(), 0);
        assert_eq!(seen[0][0].value, Some(expected), "{dtype}");
    }
}

#[test]
fn a_skipped_step_is_counted_and_never_reaches_the_users_optimizer() {
    let mut calls = 0;
    let mut optimizer = HostOptimizer::new(HostDevice::<Host>::new(), |_| {
        calls += 1;
        Ok(())
    });
    for found in [&raised()[0], &fine(), &raised()[1]] {
        optimizer.step(grads(DType::F16, [("w", &[1.0][..])]), found).unwrap();
    }
    assert_eq!(optimizer.skipped(), 2);
    assert!(format!("{optimizer:?}").contains("skipped: 2"));
    assert_eq!(calls, 1);
}

#[test]
fn a_set_without_any_gradient_is_an_error_and_never_reaches_the_users_optimizer() {
    let mut calls = 0;
    let mut optimizer = HostOptimizer::new(HostDevice::<Host>::new(), |_| {
        calls += 1;
        Ok(())
    });
    let none = ["a", "b"].map(|name| binade_core::Named::new(name, None)).to_vec();
    let error = optimizer.step(none, &fine()).unwrap_err();
    let HostDeviceError::Train(error) = error else { panic!("{error}") };
    assert_eq!(error, TrainError::from(NoGradients { parameters: 2 }));
    assert_eq!((optimizer.skipped(), calls), (0, 0));
}

#[test]
fn an_error_of_the_users_optimizer_comes_back_as_it_is() {
    let refuse = |_| Err(HostDeviceError::Invalid { what: "mine", value: 1.0, expected: "none" });
    let mut optimizer = HostOptimizer::new(HostDevice::<Host>::new(), refuse);
    let error = optimizer.step(grads(DType::F16, [("w", &[1.0][..])]), &fine()).unwrap_err();
    assert_eq!(error.to_string(), "mine: 1 given, takes none");
    assert_eq!((error.kind(), optimizer.skipped()), (binade_core::ErrorKind::InvalidArgument, 0));
}

#[test]
fn a_flag_is_raised_by_an_overflow_or_a_halt() {
    let device = HostDevice::<Host>::new();
    for found in raised() {
        assert!(device.is_raised(&found).unwrap(), "{found:?}");
    }
    assert!(!device.is_raised(&fine()).unwrap());
}

#[test]
fn a_gradient_that_is_missing_stays_missing() {
    let mut set = grads(DType::BF16, [("w", &[1.0][..])]);
    set.push(binade_core::Named::new("unused", None));
    let plain = HostDevice::new().materialise(set).unwrap();
    assert_eq!(plain[1].value, None);
    assert_eq!(plain[0].value, Some(Host::new(DType::F32, &[1.0])));
}
