//! The traits of training of a backend's device, of this crate's functions.

/// Gives a device the traits of training: sets of gradients, the loss scale, masters and snapshots.
#[doc(hidden)]
#[macro_export]
macro_rules! implement_training {
    ($device:ident) => {
        const _: () = {
            use $crate::reexports::*;
            type Error = $crate::Error<<$device as Driver>::Failure>;
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
                type Scale = Scale<Self>;

                fn upload_state(&self, state: ScaleState) -> Result<Scale<Self>, Error> {
                    Scale::upload(self, state)
                }

                fn merge(
                    &self,
                    into: &mut Found<Self>,
                    from: &Found<Self>,
                    join: MergeRule,
                ) -> Result<(), Error> {
                    into.merge(self, from, join)
                }

                fn update(
                    &self,
                    scale: &mut Scale<Self>,
                    parts: &[&Found<Self>],
                    verdicts: &[&Found<Self>],
                    rule: &LossScale,
                ) -> Result<(), Error> {
                    scale.update(self, [parts, verdicts], rule)
                }

                fn read(
                    &self,
                    found: &[&Found<Self>],
                    scale: &Scale<Self>,
                ) -> Result<(Vec<FoundInf>, ScaleState), Error> {
                    scale.read(self, found)
                }

                fn is_ready(
                    &self,
                    found: &[&Found<Self>],
                    scale: &Scale<Self>,
                ) -> Result<bool, Error> {
                    scale.is_ready(self, found)
                }

                fn upload_found(&self, found: &FoundInf) -> Result<Found<Self>, Error> {
                    Found::upload(self, found)
                }
            }

            impl GradScaler for $device {
                fn unscale(
                    &self,
                    grads: &mut Grads,
                    scale: &Scale<Self>,
                ) -> Result<Found<Self>, Error> {
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
                    Gradients::accumulated(sum, self, &grads, &found.bits)
                }

                fn clip_groups(
                    &self,
                    grads: &mut Grads,
                    groups: &[ClipGroup],
                    verdict: &mut Found<Self>,
                ) -> Result<(), Error> {
                    grads.clip_groups(self, groups, verdict)
                }

                fn grad_specs(&self, params: &Params) -> Result<Vec<Named<TensorSpec>>, Error> {
                    Ok(Gradients::specs(params))
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
                    config: &OptimizerConfig,
                ) -> Result<Masters<Self>, Error> {
                    Masters::new(self, params, config)
                }

                fn set_config(
                    &self,
                    masters: &mut Masters<Self>,
                    config: &OptimizerConfig,
                ) -> Result<(), Error> {
                    masters.set_config(self, config)
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
                    config: &OptimizerConfig,
                ) -> Result<(), Error> {
                    masters.join(self, params, more, config)
                }
            }

            impl Snapshot for $device {
                fn specs(
                    &self,
                    params: &Params,
                    masters: &Masters<Self>,
                ) -> Result<Vec<ParameterSpec>, Error> {
                    Ok(masters.specs(params))
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
