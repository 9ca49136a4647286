//! Traits of a backend's device, forwarded to [`Gpu`](crate::Gpu).

/// Implements traits of a device by calls of the same methods of [`Gpu`](crate::Gpu).
#[doc(hidden)]
#[macro_export]
macro_rules! __forward {
    ($device:ident $($trait:ident {
        $(type $name:ident = $type:ty;)*
        $($(#[$doc:meta])* fn $method:ident($($given:ident: $of:ty),* $(,)?) -> $gives:ty;)*
    })*) => {$(
        impl $trait for $device {
            $(type $name = $type;)*
            $(
                $(#[$doc])*
                fn $method(&self, $($given: $of),*) -> $gives {
                    Gpu(self).$method($($given),*)
                }
            )*
        }
    )*};
}

/// Implements casts, transfers, operations and the traits of training for a device.
#[doc(hidden)]
#[macro_export]
macro_rules! __implement_traits {
    ($device:ident) => {
        const _: () = {
            use $crate::__private::*;
            type Error = $crate::Error<<$device as Driver>::Failure>;
            type Result<T, E = Error> = ::core::result::Result<T, E>;

            impl Handle for $device {
                type Tensor = Tensor<Self>;
                type Error = Error;
            }

            impl Autocast for $device {
                fn dtype(&self, tensor: &Tensor<Self>) -> DType {
                    tensor.dtype()
                }

                fn cast(&self, tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>> {
                    if tensor.dtype() == to {
                        return Ok(tensor.clone());
                    }
                    self.converted(tensor, to, Rounding::Nearest(OnOverflow::NonFinite))
                }

                fn version(&self, tensor: &Tensor<Self>) -> Option<u64> {
                    // Nothing counts the writes of a program that has lent its memory.
                    let is_owned = self.check_owned(tensor.buffer()).is_ok();
                    is_owned.then(|| tensor.buffer().writes())
                }

                fn extents<'t>(&self, tensor: &'t Tensor<Self>) -> Option<Cow<'t, [usize]>> {
                    Some(tensor.shape().into())
                }
            }

            impl Shaped for $device {
                fn shape(&self, tensor: &Tensor<Self>) -> Vec<usize> {
                    tensor.shape().to_vec()
                }
            }

            impl $device {
                fn on_gpu<T>(
                    &self,
                    _operation: &'static str,
                    call: impl FnOnce(&Gpu<'_, Self>) -> Result<T>,
                ) -> Result<T> {
                    call(&Gpu(self))
                }
            }

            forward_ops!([] $device => on_gpu);

            $crate::__forward! { $device
                Upload {
                    fn upload(values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor<Self>>;
                    fn upload_i64(values: &[i64], shape: &[usize]) -> Result<Tensor<Self>>;
                }
                Download {
                    fn download(tensor: &Tensor<Self>) -> Result<Vec<f32>>;
                }
                GradSet {
                    type Params = Vec<Named<Tensor<Self>>>;
                    type Grads = Gradients<Self>;
                    type Found = Found<Self>;

                    fn train_error(error: TrainError) -> Self::Error;
                    /// Waits for the device.
                    fn is_raised(found: &Self::Found) -> Result<bool>;
                    /// Waits for the device where the set is a window's sum.
                    fn materialise(grads: Self::Grads) -> Result<NamedGrads<Tensor<Self>>>;
                }
                ScaleStore {
                    type Scale = Scale<Self>;

                    fn upload_state(state: ScaleState) -> Result<Self::Scale>;
                    fn merge(into: &mut Self::Found, from: &Self::Found, join: MergeRule) -> Result<()>;
                    fn update(
                        scale: &mut Self::Scale,
                        parts: &[&Self::Found],
                        verdicts: &[&Self::Found],
                        rule: &LossScale,
                    ) -> Result<()>;
                    fn read(
                        found: &[&Self::Found],
                        scale: &Self::Scale,
                    ) -> Result<(Vec<FoundInf>, ScaleState)>;
                    fn is_ready(found: &[&Self::Found], scale: &Self::Scale) -> Result<bool>;
                    fn upload_found(found: &FoundInf) -> Result<Self::Found>;
                }
                GradScaler {
                    fn unscale(grads: &mut Self::Grads, scale: &Self::Scale) -> Result<Self::Found>;
                }
                GradOps {
                    fn clip_norm(
                        grads: &mut Self::Grads,
                        norm: Norm,
                        max: f32,
                        verdict: &mut Self::Found,
                    ) -> Result<()>;
                    fn clip_value(grads: &mut Self::Grads, max: f32) -> Result<()>;
                    fn accumulate(
                        sum: Option<Self::Grads>,
                        grads: Self::Grads,
                        found: &Self::Found,
                    ) -> Result<Self::Grads>;
                    fn clip_groups(
                        grads: &mut Self::Grads,
                        groups: &[ClipGroup],
                        verdict: &mut Self::Found,
                    ) -> Result<()>;
                    fn grad_specs(params: &Self::Params) -> Result<Vec<Named<TensorSpec>>>;
                    fn save_grads(grads: &Self::Grads) -> Result<NamedGrads<RawTensor>>;
                    fn load_grads(
                        params: &Self::Params,
                        saved: &NamedGrads<RawTensor>,
                    ) -> Result<Self::Grads>;
                    fn save_rows(grads: &Self::Grads) -> Result<Vec<Named<Vec<u64>>>>;
                    fn load_rows(
                        grads: Self::Grads,
                        rows: &[Named<Vec<u64>>],
                    ) -> Result<Self::Grads>;
                }
                MultiTensor {
                    fn scale_all(
                        factor: f32,
                        tensors: &[Named<Tensor<Self>>],
                    ) -> Result<Checked<Self>>;
                    fn axpby(
                        x: (f32, &[Named<Tensor<Self>>]),
                        y: (f32, &[Named<Tensor<Self>>]),
                    ) -> Result<Checked<Self>>;
                    fn norms(
                        tensors: &[Named<Tensor<Self>>],
                        norm: Norm,
                    ) -> Result<Norms<Tensor<Self>>>;
                    fn cast_all(
                        tensors: &[Named<Tensor<Self>>],
                        to: &[DType],
                    ) -> Result<Vec<Named<Tensor<Self>>>>;
                    fn assign(
                        to: &mut [Named<Tensor<Self>>],
                        from: &[Named<Tensor<Self>>],
                        unless: &Self::Found,
                    ) -> Result<()>;
                }
                MasterWeights {
                    type Masters = Masters<Self>;

                    fn masters(
                        params: &mut Self::Params,
                        config: &OptimizerConfig,
                    ) -> Result<Self::Masters>;
                    fn set_config(masters: &mut Self::Masters, config: &OptimizerConfig) -> Result<()>;
                    fn step(
                        params: &mut Self::Params,
                        masters: &mut Self::Masters,
                        grads: Self::Grads,
                        found: &Self::Found,
                    ) -> Result<()>;
                    fn join(
                        params: &mut Self::Params,
                        masters: &mut Self::Masters,
                        more: Self::Params,
                        config: &OptimizerConfig,
                    ) -> Result<()>;
                }
                Snapshot {
                    fn specs(
                        params: &Self::Params,
                        masters: &Self::Masters,
                    ) -> Result<Vec<ParameterSpec>>;
                    fn save(
                        params: &Self::Params,
                        masters: &Self::Masters,
                    ) -> Result<Vec<SavedParameter>>;
                    fn load(
                        params: &mut Self::Params,
                        masters: &mut Self::Masters,
                        saved: &[SavedParameter],
                    ) -> Result<(), LoadError<Self::Error>>;
                    fn export_f32(
                        params: &Self::Params,
                        masters: &Self::Masters,
                    ) -> Result<Vec<Named<Vec<f32>>>>;
                }
            }
        };
    };
}
