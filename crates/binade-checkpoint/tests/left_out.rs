//! A window on a device that cannot save windows: saving and restoring are refused, and nothing has changed.

use binade_checkpoint::{Checkpoint, Draft, SaveError};
use binade_core::{
    Error as _, ErrorKind, Finding, GradSet, Handle, HostTensor, HostTypeError, Named, NamedGrads,
    Native, NativeError, TrainError,
};
use binade_grad_scaler::{BadMicroBatch, GradOps, GradScaler, LossScale, Norm, ScaleState, Scaler};

/// A device of host tensors that leaves out all that a device may.
#[derive(Clone, Copy, Debug)]
struct Bare;

const HOST: Native<HostTensor> = Native::new();

type BareError = NativeError<HostTypeError>;

impl Handle for Bare {
    type Tensor = HostTensor;
    type Error = BareError;
}

impl GradSet for Bare {
    type Params = Vec<Named<HostTensor>>;
    type Grads = NamedGrads<HostTensor>;
    type Found = Finding;

    fn train_error(&self, error: TrainError) -> BareError {
        HOST.train_error(error)
    }
}

impl GradScaler for Bare {
    fn unscale(
        &self,
        grads: &mut NamedGrads<HostTensor>,
        scale: &ScaleState,
    ) -> Result<Finding, BareError> {
        HOST.unscale(grads, scale)
    }
}

impl GradOps for Bare {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<HostTensor>,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<(), BareError> {
        HOST.clip_norm(grads, norm, max, verdict)
    }

    fn clip_value(&self, grads: &mut NamedGrads<HostTensor>, max: f32) -> Result<(), BareError> {
        HOST.clip_value(grads, max)
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<HostTensor>>,
        grads: NamedGrads<HostTensor>,
        found: &Finding,
    ) -> Result<NamedGrads<HostTensor>, BareError> {
        HOST.accumulate(sum, grads, found)
    }
}

fn grads() -> NamedGrads<HostTensor> {
    vec![Named::new("w", Some(HostTensor::from(vec![3.0])))]
}

#[test]
fn a_window_is_refused_by_device_and_method_and_goes_on() {
    let scaler = Scaler::new(Bare, LossScale::none()).unwrap();
    let mut open = scaler.accumulate(BadMicroBatch::SkipWindow);
    open.add(scaler.check_unscaled(grads()).unwrap()).unwrap();
    let Err(SaveError::Device(error)) = Draft::within("window", &open) else { panic!("refused") };
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(text.contains("Bare`") && text.contains("GradOps::save_grads"), "{text}");
    let sum = open.finish().unwrap().unwrap();
    assert_eq!(sum.grads()[0].value, Some(HostTensor::from(vec![3.0])));
}

#[test]
fn a_saved_window_is_not_opened_there() {
    let other = Scaler::new(HOST, LossScale::none()).unwrap();
    let mut open = other.accumulate(BadMicroBatch::SkipWindow);
    let loss = other.scale(&HostTensor::from(vec![1.0])).unwrap();
    open.add(loss.backward(|_| Ok(grads())).unwrap().unscale().unwrap()).unwrap();
    let draft = Draft::within("window", &open).unwrap();
    let checkpoint: Checkpoint = draft.scaler("loss", &other).unwrap().finish().unwrap();
    let scaler = Scaler::new(Bare, LossScale::none()).unwrap();
    let (before, params) =
        (scaler.state().unwrap(), vec![Named::new("w", HostTensor::from(vec![1.0]))]);
    let mut restore = checkpoint.restore();
    let text = restore.window("window", &scaler, &params).unwrap_err().to_string();
    assert!(text.contains("Bare`") && text.contains("GradOps::grad_forms"), "{text}");
    drop(restore);
    assert_eq!(scaler.state().unwrap(), before);
}
