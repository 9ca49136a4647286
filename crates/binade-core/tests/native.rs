//! Handle of a host tensor: the provided methods of its trait, and its errors.

use binade_core::{
    AmpTensor, DType, Error, ErrorKind, GradSet, Handle, HostDeviceError, HostTensor,
    HostTypeError, NoGradients, OrderError, TrainError,
};
use half::f16;
use std::{error::Error as _, fmt, sync::Arc};

/// Tensor of `f32` with the provided `shape` and `scaled`, whose casts to another type fail.
#[derive(Clone, Debug, PartialEq)]
struct Plain(Vec<f32>);

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

impl AmpTensor for Plain {
    type Error = Of;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, to: DType) -> Result<Self, Of> {
        let error = Of(ErrorKind::Unsupported, fmt::Error);
        if to == DType::F32 { Ok(self.clone()) } else { Err(error) }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0.iter_mut().enumerate().for_each(|(index, x)| *x = f(index, *x));
    }
}

#[test]
fn a_tensor_is_scaled_in_f32_and_tells_no_shape_unless_it_says_so() {
    let loss = Plain(vec![3.0, -0.5]);
    assert_eq!(loss.scaled(8.0).unwrap(), Plain(vec![24.0, -4.0]));
    assert_eq!((loss.shape(), loss), (None, Plain(vec![3.0, -0.5])));
    // In sixteen bits the product would be infinite.
    let low = HostTensor::from(vec![f16::from_f32(1024.0)]);
    assert_eq!(low.scaled(1024.0), Ok(HostTensor::from(vec![1048576.0_f32])));
}

#[test]
fn every_error_names_its_parameter_or_value_and_has_its_kind() {
    let w: Arc<str> = "w".into();
    let none = NoGradients { parameters: 2 };
    let order = OrderError::SecondUpdate { step: String::new() };
    let (no_gradients, second_update) = (none.to_string(), order.to_string());
    let errors: [(HostDeviceError<HostTypeError>, ErrorKind, &str); 6] = [
        (
            HostTypeError(DType::I64).into(),
            ErrorKind::Unsupported,
            "host tensors have elements of bf16, f16 or f32, and not of i64: take one of these",
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
        (HostDeviceError::Train(none.into()), ErrorKind::InvalidArgument, &no_gradients),
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
