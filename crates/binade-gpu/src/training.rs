//! The traits of training for a backend's device, of this crate's functions.

/// Items that the macros of this crate name.
#[doc(hidden)]
pub mod reexports {
    pub use crate::{
        Found, Gradients, Masters, Tensor, is_scale_ready, read_scale, update_scale, upload_scale,
    };
    pub use binade_core::{
        DType, Finding, Form, GradSet, Named, NamedGrads, RawTensor, TrainError,
    };
    pub use binade_grad_scaler::{
        ClipGroup, GradOps, GradScaler, Join, LossScale, Norm, ScaleState, ScaleStore,
    };
    pub use binade_master_weights::{
        LoadError, MasterWeights, ParameterForm, Plan, SavedParameter, Snapshot,
    };
    pub use binade_ops::{Download, Shaped, Upload};
}

/// Implements the six traits of training for a device that has [`Kernels`](crate::Kernels), with `$scale` as its scale.
#[macro_export]
macro_rules! implement_training {
    ($device:ty, $scale:ty) => {
        const _: () = {
            use $crate::reexports::*;
            type Error = $crate::Error<<$device as $crate::Driver>::Failure>;
            type Grads = Gradients<$device>;
            type Params = Vec<Named<Tensor<$device>>>;

            impl GradSet for $device {
                type Params = Params;
                type Grads = Grads;
                type Found = Found<Self>;

                fn train_error(&self, error: TrainError) -> Error {
                    error.into()
                }

                /// Waits for the device.
                fn is_raised(&self, found: &Found<Self>) -> Result<bool, Error> {
                    found.is_raised(self)
                }

                /// Waits for the device where the set is a window's sum.
                fn materialise(&self, grads: Grads) -> Result<NamedGrads<Tensor<Self>>, Error> {
                    grads.materialised(self)
                }
            }

            impl ScaleStore for $device {
                type Scale = $scale;

                fn upload_state(&self, state: ScaleState) -> Result<$scale, Error> {
                    upload_scale(self, state)
                }

                fn merge(
                    &self,
                    into: &mut Found<Self>,
                    from: &Found<Self>,
                    join: Join,
                ) -> Result<(), Error> {
                    into.merge(self, from, join)
                }

                fn update(
                    &self,
                    scale: &mut $scale,
                    parts: &[&Found<Self>],
                    verdicts: &[&Found<Self>],
                    rule: &LossScale,
                ) -> Result<(), Error> {
                    update_scale(self, scale, [parts, verdicts], rule)
                }

                fn read(
                    &self,
                    found: &[&Found<Self>],
                    scale: &$scale,
                ) -> Result<(Vec<Finding>, ScaleState), Error> {
                    read_scale(self, found, scale)
                }

                fn is_ready(&self, found: &[&Found<Self>], scale: &$scale) -> Result<bool, Error> {
                    is_scale_ready(self, found, scale)
                }

                fn upload_found(&self, found: &Finding) -> Result<Found<Self>, Error> {
                    Found::upload(self, found)
                }
            }

            impl GradScaler for $device {
                fn unscale(&self, grads: &mut Grads, scale: &$scale) -> Result<Found<Self>, Error> {
                    grads.unscale(self, scale)
                }
            }

            impl GradOps for $device {
                fn clip_norm(
                    &self,
                    grads: &mut Grads,
                    norm: Norm,
                    max: f32,
                    verdict: &mut Found<Self>,
                ) -> Result<(), Error> {
                    grads.clip_norm(self, norm, max, verdict)
                }

                fn clip_value(&self, grads: &mut Grads, max: f32) -> Result<(), Error> {
                    grads.clip_value(self, max)
                }

                fn accumulate(
                    &self,
                    sum: Option<Grads>,
                    grads: Grads,
                    found: &Found<Self>,
                ) -> Result<Grads, Error> {
                    Gradients::accumulated(sum, self, &grads, found.buffer())
                }

                fn clip_groups(
                    &self,
                    grads: &mut Grads,
                    groups: &[ClipGroup],
                    verdict: &mut Found<Self>,
                ) -> Result<(), Error> {
                    grads.clip_groups(self, groups, verdict)
                }

                fn grad_forms(&self, params: &Params) -> Result<Vec<Named<Form>>, Error> {
                    Ok(Gradients::forms(params))
                }

                fn save_grads(&self, grads: &Grads) -> Result<NamedGrads<RawTensor>, Error> {
                    grads.saved(self)
                }

                fn load_grads(
                    &self,
                    _params: &Params,
                    saved: &NamedGrads<RawTensor>,
                ) -> Result<Grads, Error> {
                    Gradients::loaded(self, saved)
                }
            }

            impl MasterWeights for $device {
                type Masters = Masters<Self>;

                fn masters(
                    &self,
                    params: &mut Params,
                    plan: &Plan,
                ) -> Result<Masters<Self>, Error> {
                    Masters::new(self, params, plan)
                }

                fn set_plan(&self, masters: &mut Masters<Self>, plan: &Plan) -> Result<(), Error> {
                    masters.set_plan(self, plan)
                }

                fn step(
                    &self,
                    params: &mut Params,
                    masters: &mut Masters<Self>,
                    grads: Grads,
                    found: &Found<Self>,
                ) -> Result<(), Error> {
                    masters.step(self, params, &grads, found)
                }

                fn join(
                    &self,
                    params: &mut Params,
                    masters: &mut Masters<Self>,
                    more: Params,
                    plan: &Plan,
                ) -> Result<(), Error> {
                    masters.join(self, params, more, plan)
                }
            }

            impl Snapshot for $device {
                fn forms(
                    &self,
                    params: &Params,
                    masters: &Masters<Self>,
                ) -> Result<Vec<ParameterForm>, Error> {
                    Ok(masters.forms(params))
                }

                fn save(
                    &self,
                    params: &Params,
                    masters: &Masters<Self>,
                ) -> Result<Vec<SavedParameter>, Error> {
                    masters.save(self, params)
                }

                fn load(
                    &self,
                    params: &mut Params,
                    masters: &mut Masters<Self>,
                    saved: &[SavedParameter],
                ) -> Result<(), LoadError<Error>> {
                    masters.load(self, params, saved)
                }

                fn export_f32(
                    &self,
                    params: &Params,
                    masters: &Masters<Self>,
                ) -> Result<Vec<Named<Vec<f32>>>, Error> {
                    masters.export_f32(self, params)
                }
            }
        };
    };
}
