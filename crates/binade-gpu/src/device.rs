//! A backend's device of this crate's functions: its types, casts, and transfers between host and device.

/// Items that the macros of this crate name.
#[doc(hidden)]
pub mod reexports {
    pub use crate::{Driver, Found, Gradients, Masters, MemoryUse, Rounding, Scale, Tensor};
    pub use binade_autocast::Autocast;
    pub use binade_core::{
        DType, FoundInf, GradSet, Handle, Named, NamedGrads, RawTensor, TensorSpec, TrainError,
        cast::OnOverflow, stochastic::Key,
    };
    pub use binade_grad_scaler::{
        ClipGroup, GradOps, GradScaler, LossScale, MergeRule, Norm, ScaleState, ScaleStore,
    };
    pub use binade_master_weights::{
        LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
    };
    pub use binade_ops::{Download, Shaped, Upload};
    pub use std::borrow::Cow;
}

/// Gives a device that has [`Kernels`](crate::Kernels) what it has in common with others: its types, casts, transfers between
/// host and device, and the traits of training.
#[macro_export]
macro_rules! implement_device {
    ($device:ident) => {
        /// A tensor in device memory.
        pub type Tensor = $crate::Tensor<$device>;
        /// Gradients by parameter, and the factors that are still to be multiplied in.
        pub type Gradients = $crate::Gradients<$device>;
        /// The finding of a pass over gradients, on the device.
        pub type Found = $crate::Found<$device>;
        /// The scale on the device.
        pub type Scale = $crate::Scale<$device>;
        /// Masters, moments and counts of applied steps on the device.
        pub type Masters = $crate::Masters<$device>;

        const _: () = {
            use $crate::reexports::*;
            type Error = $crate::Error<<$device as Driver>::Failure>;

            impl Handle for $device {
                type Tensor = Tensor<Self>;
                type Error = Error;
            }

            impl Autocast for $device {
                fn dtype(&self, tensor: &Tensor<Self>) -> DType {
                    tensor.dtype()
                }

                fn cast(&self, tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>, Error> {
                    if tensor.dtype() == to {
                        return Ok(tensor.clone());
                    }
                    self.cast_overflowing(tensor, to, OnOverflow::NonFinite)
                }

                fn extents<'t>(&self, tensor: &'t Tensor<Self>) -> Option<Cow<'t, [usize]>> {
                    Some(tensor.shape().into())
                }
            }

            impl $device {
                /// A copy with another element type, rounded to nearest even; `on_overflow` says what lies beyond its largest
                /// value.
                ///
                /// # Errors
                ///
                /// `Unsupported` for types other than bf16, f16, f32, e4m3 and e5m2.
                pub fn cast_overflowing(
                    &self,
                    tensor: &Tensor<Self>,
                    to: DType,
                    on_overflow: OnOverflow,
                ) -> Result<Tensor<Self>, Error> {
                    self.converted(tensor, to, Rounding::Nearest(on_overflow))
                }

                /// A copy with another element type, each element rounded up or down by the random words of `key`: the same bits
                /// as [`binade_core::stochastic`] gives.
                ///
                /// # Errors
                ///
                /// `Unsupported` for types other than bf16, f16, f32, e4m3 and e5m2.
                pub fn cast_stochastic(
                    &self,
                    tensor: &Tensor<Self>,
                    to: DType,
                    key: Key,
                ) -> Result<Tensor<Self>, Error> {
                    self.converted(tensor, to, Rounding::Stochastic(key))
                }

                /// Device memory that values of this device hold, tables that it keeps included.
                pub fn memory_use(&self) -> MemoryUse {
                    self.pool().memory_use()
                }

                /// Lets [`MemoryUse::peak_bytes`] begin again with what is in use.
                pub fn reset_peak_memory(&self) {
                    self.pool().reset_peak();
                }

                /// A tensor from the little-endian bytes of its elements.
                ///
                /// # Errors
                ///
                /// `Length` where they are not as many as `shape` says; where the device has no room for them.
                pub fn from_bits(
                    &self,
                    bytes: &[u8],
                    dtype: DType,
                    shape: &[usize],
                ) -> Result<Tensor<Self>, Error> {
                    Tensor::from_bits(self, bytes, dtype, shape)
                }

                /// Waits for the device and returns the little-endian bytes of a tensor's elements, in row-major order.
                ///
                /// # Errors
                ///
                /// When the device fails; `Index` where an operation met an index outside its table.
                pub fn to_bits(&self, tensor: &Tensor<Self>) -> Result<Vec<u8>, Error> {
                    tensor.to_bits(self)
                }
            }

            impl Upload for $device {
                fn upload(
                    &self,
                    values: &[f32],
                    shape: &[usize],
                    dtype: DType,
                ) -> Result<Tensor<Self>, Error> {
                    Tensor::upload(self, values, shape, dtype)
                }

                fn upload_i64(
                    &self,
                    values: &[i64],
                    shape: &[usize],
                ) -> Result<Tensor<Self>, Error> {
                    Tensor::from_elements(self, values, DType::I64, shape)
                }
            }

            impl Download for $device {
                fn download(&self, tensor: &Tensor<Self>) -> Result<Vec<f32>, Error> {
                    tensor.download(self)
                }
            }

            impl Shaped for $device {
                fn shape(&self, tensor: &Tensor<Self>) -> Vec<usize> {
                    tensor.shape().to_vec()
                }
            }
        };

        $crate::implement_training!($device);
    };
}
