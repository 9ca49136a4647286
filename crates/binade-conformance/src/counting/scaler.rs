//! Gradients, found-inf results and the loss scale.

use super::{Counting, CountingError};
use binade_core::{FoundInf, GradSet, Named, NamedGrads, RawTensor, TensorSpec, TrainError};
use binade_grad_scaler::{
    ClipGroup, GradOps, GradScaler, Loss, LossScale, MergeRule, Norm, ScaleState, ScaleStore,
};
use std::panic::Location;

/// Loss or found-inf result of a wrapped device, in the form that [`Counting`] takes.
///
/// The found-inf result needs its own type, because `binade-grad-scaler` implements the scale of each device that keeps the result on the host.
///
/// # Examples
///
/// ```
/// use binade_conformance::core::{AmpTensor, HostDevice, NamedGrads, HostDeviceError};
/// use binade_conformance::counting::{Counted, Counting, CountingError};
/// use binade_conformance::grad_scaler::{Scaler, UnscaledGrads};
///
/// type Device<T> = Counting<HostDevice<T>>;
/// type Error<T> = CountingError<HostDeviceError<<T as AmpTensor>::Error>>;
///
/// fn unscaled<T: AmpTensor>(
///     scaler: &mut Scaler<Device<T>>,
///     loss: T,
///     backward: impl FnOnce(&T) -> NamedGrads<T>,
/// ) -> Result<UnscaledGrads<Device<T>>, Error<T>> {
///     scaler.scale(&Counted(loss))?.backward(|loss| Ok(backward(&loss.0)))?.unscale()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Counted<L>(pub L);

impl<D, L> Loss<Counting<D>> for Counted<L>
where
    D: ScaleStore,
    L: Loss<D, Error = D::Error>,
{
    type Error = CountingError<D::Error>;

    fn scaled(&self, device: &Counting<D>, scale: &D::Scale) -> Result<Self, Self::Error> {
        device.launch("scaled", |device| self.0.scaled(device, scale)).map(Self)
    }

    fn unscaled(&self, device: &Counting<D>, scale: &D::Scale) -> Result<Self, Self::Error> {
        device.launch("unscaled", |device| self.0.unscaled(device, scale)).map(Self)
    }
}

impl<D: GradSet> GradSet for Counting<D> {
    type Params = D::Params;
    type Grads = D::Grads;
    type Found = Counted<D::Found>;

    fn train_error(&self, error: TrainError) -> Self::Error {
        self.device.train_error(error).into()
    }

    forward! {
        look is_raised(found: &Self::Found => &found.0) -> bool;
        launch materialise(grads: D::Grads) -> NamedGrads<D::Tensor>;
    }
}

impl<D: ScaleStore> ScaleStore for Counting<D> {
    type Scale = D::Scale;

    fn upload_found(&self, found: &FoundInf) -> Result<Self::Found, Self::Error> {
        self.launch("upload_found", |device| device.upload_found(found)).map(Counted)
    }

    forward! {
        launch upload_state(state: ScaleState) -> D::Scale;
        launch merge(
            into: &mut Self::Found => &mut into.0,
            from: &Self::Found => &from.0,
            rule: MergeRule
        ) -> ();
        launch update(
            scale: &mut D::Scale,
            parts: &[&Self::Found] => &wrapped(parts),
            verdicts: &[&Self::Found] => &wrapped(verdicts),
            rule: &LossScale
        ) -> ();
    }

    /// Reads without a window: a loop that resolves outcomes announces its read.
    #[track_caller]
    fn read(
        &self,
        found: &[&Self::Found],
        scale: &D::Scale,
    ) -> Result<(Vec<FoundInf>, ScaleState), Self::Error> {
        self.tally.add("read", Some(Location::caller()));
        Ok(self.device.read(&wrapped(found), scale)?)
    }

    fn is_ready(&self, found: &[&Self::Found], scale: &D::Scale) -> Result<bool, Self::Error> {
        Ok(self.device.is_ready(&wrapped(found), scale)?)
    }
}

fn wrapped<'f, F>(found: &[&'f Counted<F>]) -> Vec<&'f F> {
    found.iter().map(|found| &found.0).collect()
}

impl<D: GradScaler> GradScaler for Counting<D> {
    fn unscale(&self, grads: &mut D::Grads, scale: &D::Scale) -> Result<Self::Found, Self::Error> {
        self.launch("unscale", |device| device.unscale(grads, scale)).map(Counted)
    }
}

impl<D: GradOps> GradOps for Counting<D> {
    forward! {
        launch clip_norm(
            grads: &mut D::Grads,
            norm: Norm,
            max: f32,
            verdict: &mut Self::Found => &mut verdict.0
        ) -> ();
        launch clip_value(grads: &mut D::Grads, max: f32) -> ();
        launch accumulate(
            sum: Option<D::Grads>,
            grads: D::Grads,
            found: &Self::Found => &found.0
        ) -> D::Grads;
        launch clip_groups(
            grads: &mut D::Grads,
            groups: &[ClipGroup],
            verdict: &mut Self::Found => &mut verdict.0
        ) -> ();
        look save_grads(grads: &D::Grads) -> NamedGrads<RawTensor>;
        launch load_grads(params: &D::Params, saved: &NamedGrads<RawTensor>) -> D::Grads;
        look save_rows(grads: &D::Grads) -> Vec<Named<Vec<u64>>>;
        launch load_rows(grads: D::Grads, rows: &[Named<Vec<u64>>]) -> D::Grads;
    }

    fn grad_specs(&self, params: &D::Params) -> Result<Vec<Named<TensorSpec>>, Self::Error> {
        Ok(self.device.grad_specs(params)?)
    }
}
