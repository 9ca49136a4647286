//! Errors of host tensors, and of what a device leaves out.

use binade_core::{
    AmpTensor as _, DType, Error, ErrorKind, FoundInf, GradSet, Handle, HostDevice,
    HostDeviceError, HostTensor, HostTypeError, MultiTensor as _, Named, OrderError, TrainError,
};
use std::{error::Error as _, fmt, sync::Arc};

/// Error of any kind, with another as its cause.
#[derive(Debug)]
struct Of(ErrorKind, fmt::Error);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Of {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.1)
    }
}

impl Error for Of {
    fn kind(&self) -> ErrorKind {
        self.0
    }
}

#[test]
fn every_error_names_its_parameter_or_value_and_has_its_kind() {
    let w: Arc<str> = "w".into();
    let none = TrainError::NoGradients { parameters: 2 };
    let order = OrderError::SecondUpdate { step: String::new() };
    let (no_gradients, second_update) = (none.to_string(), order.to_string());
    let errors: [(HostDeviceError<HostTypeError>, ErrorKind, &str); 6] = [
        (
            HostTypeError(DType::I64).into(),
            ErrorKind::Unsupported,
            "the tensor cannot have elements of i64: take a type that it has, such as f32",
        ),
        (
            HostDeviceError::Mismatch { parameter: w.clone(), why: "none such" },
            ErrorKind::Mismatch,
            "`w`: none such",
        ),
        (
            HostDeviceError::Names { first: w, second: "v".into(), why: "in another order" },
            ErrorKind::Mismatch,
            "`w` and `v`: in another order",
        ),
        (HostDeviceError::Train(none), ErrorKind::InvalidArgument, &no_gradients),
        (HostDeviceError::Train(order.into()), ErrorKind::Mismatch, &second_update),
        (
            HostDeviceError::Invalid { what: "clip", value: -1.5, expected: "a norm above 0" },
            ErrorKind::InvalidArgument,
            "clip: -1.5 given, takes a norm above 0",
        ),
    ];
    for (error, kind, text) in errors {
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
        assert!(error.source().is_none(), "{error}");
    }
    assert!(no_gradients.starts_with("no gradient came for any of 2 parameters"), "{no_gradients}");
}

#[test]
fn a_wrapped_error_keeps_its_kind_and_its_cause() {
    use ErrorKind::{DeviceLost, InvalidArgument, Mismatch, Other, OutOfMemory, Unsupported};
    for kind in [DeviceLost, OutOfMemory, Mismatch, InvalidArgument, Unsupported, Other] {
        let error = HostDeviceError::from(Of(kind, fmt::Error));
        assert_eq!(error.kind(), kind);
        assert!(error.source().is_some_and(<dyn std::error::Error>::is::<fmt::Error>));
    }
}

#[test]
fn an_error_of_the_programs_own_keeps_its_words() {
    type Failure = HostDeviceError<HostTypeError>;
    let gone = std::io::Error::new(std::io::ErrorKind::NotFound, "batch 3 is gone");
    for error in [Failure::other(gone), Failure::other("batch 3 is gone")] {
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Other, "batch 3 is gone")
        );
    }
}

/// A device that only scales losses.
struct Losses;

impl Handle for Losses {
    type Tensor = ();
    type Error = TrainError;
}

impl GradSet for Losses {
    type Params = ();
    type Grads = ();
    type Found = ();

    fn train_error(&self, error: TrainError) -> TrainError {
        error
    }
}

#[test]
fn an_optional_method_that_a_device_leaves_out_is_unsupported_by_both_names() {
    let device = std::any::type_name::<Losses>();
    for (error, method) in [
        (Losses.is_raised(&()).unwrap_err(), "GradSet::is_raised"),
        (Losses.materialise(()).unwrap_err(), "GradSet::materialise"),
    ] {
        assert_eq!(error, TrainError::Unsupported { device, method });
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains(device) && text.contains(method), "{text}");
    }
}

#[test]
fn an_assignment_to_a_tensor_that_is_not_f32_is_refused_whatever_was_found() {
    let wide = |x: f32| HostTensor::from(vec![x]);
    let from = [Named::new("v", wide(1.0)), Named::new("w", wide(2.0))];
    let low = wide(4.0).cast(DType::BF16).unwrap();
    for halted in [false, true] {
        let mut to = [Named::new("v", wide(3.0)), Named::new("w", low.clone())];
        let found = FoundInf { halted, ..FoundInf::default() };
        let error = HostDevice::<HostTensor>::new().assign(&mut to, &from, &found).unwrap_err();
        assert!(error.to_string().starts_with("`w`: elements are assigned to"), "{error}");
        assert_eq!(to.map(|tensor| tensor.value.to_f32()), [[3.0], [4.0]]);
    }
}
