//! Optional methods that a device leaves out: the kit skips their cases, with the device's words.

use super::{clip, norm};
use crate::SubjectError;
use binade_core::{
    FoundInf, GradSet, Handle, HostDevice, HostDeviceError, HostTensor, HostTypeError, Named,
    NamedGrads, TrainError,
};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState};

/// A device of host tensors that leaves out all that a device may.
#[derive(Clone, Copy, Debug)]
struct Bare;

const HOST: HostDevice<HostTensor> = HostDevice::new();

type BareError = HostDeviceError<HostTypeError>;

impl Handle for Bare {
    type Tensor = HostTensor;
    type Error = BareError;
}

impl GradSet for Bare {
    type Params = Vec<Named<HostTensor>>;
    type Grads = NamedGrads<HostTensor>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> BareError {
        HOST.train_error(error)
    }
}

impl GradScaler for Bare {
    fn unscale(
        &self,
        grads: &mut NamedGrads<HostTensor>,
        scale: &ScaleState,
    ) -> Result<FoundInf, BareError> {
        HOST.unscale(grads, scale)
    }
}

impl GradOps for Bare {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<HostTensor>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
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
        found: &FoundInf,
    ) -> Result<NamedGrads<HostTensor>, BareError> {
        HOST.accumulate(sum, grads, found)
    }
}

fn grads() -> NamedGrads<HostTensor> {
    vec![Named::new("w", Some(HostTensor::from(vec![3.0, 4.0])))]
}

#[test]
fn what_a_handle_leaves_out_is_a_skip_that_names_handle_and_method() {
    let one = ScaleState::from_exponent(0);
    let groups = [ClipGroup::new(["w"], Norm::L2, 1.0)];
    let clipped = clip(&Bare, grads(), one, None, Some(&groups)).map(drop);
    let unscaled = clip(&Bare, grads(), one, None, None).map(drop);
    for (outcome, method) in [(clipped, "GradOps::clip_groups"), (unscaled, "GradSet::materialise")]
    {
        let Err(SubjectError::Unsupported(text)) = outcome else { panic!("{method}: {outcome:?}") };
        assert!(text.contains("Bare`") && text.contains(method), "{text}");
    }
    // A method that the device has is still called.
    assert_eq!(norm(&Bare, grads(), one, Norm::L2).unwrap().norm, Some(5.0));
}
