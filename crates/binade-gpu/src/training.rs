//! The traits of training for a backend's device, of this crate's functions.

/// Implements `GradSet` and `GradOps` for a device that has [`Kernels`](crate::Kernels).
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
    };
}
