//! The traits of training for a backend's device, of this crate's functions.

/// Implements `GradSet`, `GradOps`, `MasterWeights` and `Snapshot` for a device that has [`Kernels`](crate::Kernels).
#[macro_export]
macro_rules! implement_training {
    ($device:ty) => {
        impl $crate::reexports::GradSet for $device {
            type Params = Vec<$crate::reexports::Named<$crate::Tensor<Self>>>;
            type Grads = $crate::Gradients<Self>;
            type Found = $crate::Found<Self>;

            fn train_error(&self, error: $crate::reexports::TrainError) -> Self::Error {
                error.into()
            }

            /// Waits for the device.
            fn is_raised(&self, found: &Self::Found) -> Result<bool, Self::Error> {
                found.is_raised(self)
            }

            /// Waits for the device where the set is a window's sum.
            fn materialise(
                &self,
                grads: Self::Grads,
            ) -> Result<$crate::reexports::NamedGrads<Self::Tensor>, Self::Error> {
                grads.materialised(self)
            }
        }

        impl $crate::reexports::GradOps for $device {
            fn clip_norm(
                &self,
                grads: &mut Self::Grads,
                norm: $crate::reexports::Norm,
                max: f32,
                verdict: &mut Self::Found,
            ) -> Result<(), Self::Error> {
                grads.clip_norm(self, norm, max, verdict)
            }

            fn clip_value(&self, grads: &mut Self::Grads, max: f32) -> Result<(), Self::Error> {
                grads.clip_value(self, max)
            }

            fn accumulate(
                &self,
                sum: Option<Self::Grads>,
                grads: Self::Grads,
                found: &Self::Found,
            ) -> Result<Self::Grads, Self::Error> {
                $crate::Gradients::accumulated(sum, self, &grads, found.buffer())
            }

            fn clip_groups(
                &self,
                grads: &mut Self::Grads,
                groups: &[$crate::reexports::ClipGroup],
                verdict: &mut Self::Found,
            ) -> Result<(), Self::Error> {
                grads.clip_groups(self, groups, verdict)
            }

            fn grad_forms(
                &self,
                params: &Self::Params,
            ) -> Result<Vec<$crate::reexports::Named<$crate::reexports::Form>>, Self::Error> {
                Ok($crate::Gradients::forms(params))
            }

            fn save_grads(
                &self,
                grads: &Self::Grads,
            ) -> Result<$crate::reexports::NamedGrads<$crate::reexports::RawTensor>, Self::Error>
            {
                grads.saved(self)
            }

            fn load_grads(
                &self,
                _params: &Self::Params,
                saved: &$crate::reexports::NamedGrads<$crate::reexports::RawTensor>,
            ) -> Result<Self::Grads, Self::Error> {
                $crate::Gradients::loaded(self, saved)
            }
        }

        impl $crate::reexports::MasterWeights for $device {
            type Masters = $crate::Masters<Self>;

            fn masters(
                &self,
                params: &mut Self::Params,
                plan: &$crate::reexports::Plan,
            ) -> Result<Self::Masters, Self::Error> {
                $crate::Masters::new(self, params, plan)
            }

            fn set_plan(
                &self,
                masters: &mut Self::Masters,
                plan: &$crate::reexports::Plan,
            ) -> Result<(), Self::Error> {
                masters.set_plan(self, plan)
            }

            fn step(
                &self,
                params: &mut Self::Params,
                masters: &mut Self::Masters,
                grads: Self::Grads,
                found: &Self::Found,
            ) -> Result<(), Self::Error> {
                masters.step(self, params, &grads, found)
            }

            fn join(
                &self,
                params: &mut Self::Params,
                masters: &mut Self::Masters,
                more: Self::Params,
                plan: &$crate::reexports::Plan,
            ) -> Result<(), Self::Error> {
                masters.join(self, params, more, plan)
            }
        }

        impl $crate::reexports::Snapshot for $device {
            fn forms(
                &self,
                params: &Self::Params,
                masters: &Self::Masters,
            ) -> Result<Vec<$crate::reexports::ParameterForm>, Self::Error> {
                Ok(masters.forms(params))
            }

            fn save(
                &self,
                params: &Self::Params,
                masters: &Self::Masters,
            ) -> Result<Vec<$crate::reexports::SavedParameter>, Self::Error> {
                masters.save(self, params)
            }

            fn load(
                &self,
                params: &mut Self::Params,
                masters: &mut Self::Masters,
                saved: &[$crate::reexports::SavedParameter],
            ) -> Result<(), $crate::reexports::LoadError<Self::Error>> {
                masters.load(self, params, saved)
            }

            fn export_f32(
                &self,
                params: &Self::Params,
                masters: &Self::Masters,
            ) -> Result<Vec<$crate::reexports::Named<Vec<f32>>>, Self::Error> {
                masters.export_f32(self, params)
            }
        }
    };
}
