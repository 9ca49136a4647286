//! A backend's device: its operations and its training over the driver, and the traits that a macro forwards to them.

use crate::{Driver, Error, Tensor};
use binade_core::Handle;

/// Device whose operations and training this crate implements over a driver's kernels, by reference to the driver.
///
/// It implements operations, uploads, downloads and the traits of training. Rust does not allow a crate to implement another crate's trait for every
/// driver. So [`implement_device!`](crate::implement_device) implements each trait for a backend's handle, by calls of this type's methods.
///
/// # Examples
///
/// Code that is generic over drivers calls operations by it:
///
/// ```
/// use binade_gpu::{Gpu, PointwiseKernels, Result, Tensor};
/// use binade_core::ops::Add;
///
/// fn doubled<D: PointwiseKernels>(driver: &D, x: &Tensor<D>) -> Result<Tensor<D>, D> {
///     Gpu(driver).add(x, x)
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gpu<'d, D>(pub &'d D);

impl<D: Driver> Handle for Gpu<'_, D> {
    type Tensor = Tensor<D>;
    type Error = Error<D::Failure>;
}

/// Items that the macro of this crate names.
#[doc(hidden)]
pub mod __private {
    pub use crate::{Driver, Found, Gpu, Gradients, Masters, MemoryUse, Rounding, Scale, Tensor};
    pub use binade_autocast::Autocast;
    pub use binade_core::ops::{Download, Shaped, Upload, forward_ops};
    pub use binade_core::{
        Checked, DType, FoundInf, GradSet, Handle, MultiTensor, Named, NamedGrads, Norms,
        RawTensor, TensorSpec, TrainError, cast::OnOverflow, stochastic::Key,
    };
    pub use binade_grad_scaler::{
        ClipGroup, GradOps, GradScaler, LossScale, MergeRule, Norm, ScaleState, ScaleStore,
    };
    pub use binade_master_weights::{
        LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
    };
    pub use std::borrow::Cow;
}

/// Implements what backends have in common for a device: types, casts, transfers between host and device, operations, and the traits
/// of training. The device must implement [`Kernels`](crate::Kernels) and the traits of the operations' kernels.
#[macro_export]
macro_rules! implement_device {
    ($device:ident) => {
        /// A tensor in device memory.
        pub type Tensor = $crate::Tensor<$device>;
        /// Gradients by parameter, with their pending factors.
        pub type Gradients = $crate::Gradients<$device>;
        /// Found-inf result of a pass over gradients, on the device.
        pub type Found = $crate::Found<$device>;
        /// The scale on the device.
        pub type Scale = $crate::Scale<$device>;
        /// Masters, moments and counts of applied steps on the device.
        pub type Masters = $crate::Masters<$device>;

        const _: () = {
            use $crate::__private::*;
            type Error = $crate::Error<<$device as Driver>::Failure>;

            impl $device {
                /// Returns a copy with another element type, rounded to nearest even; `on_overflow` says what lies beyond its
                /// largest value.
                ///
                /// # Errors
                ///
                /// Returns `Unsupported` for types other than bf16, f16, f32, e4m3 and e5m2.
                pub fn cast_overflowing(
                    &self,
                    tensor: &Tensor<Self>,
                    to: DType,
                    on_overflow: OnOverflow,
                ) -> Result<Tensor<Self>, Error> {
                    self.converted(tensor, to, Rounding::Nearest(on_overflow))
                }

                /// Returns a copy with another element type, each element rounded up or down by the random words of `key`: the same
                /// bits as [`binade_core::stochastic`] gives.
                ///
                /// # Errors
                ///
                /// Returns `Unsupported` for types other than bf16, f16, f32, e4m3 and e5m2.
                pub fn cast_stochastic(
                    &self,
                    tensor: &Tensor<Self>,
                    to: DType,
                    key: Key,
                ) -> Result<Tensor<Self>, Error> {
                    self.converted(tensor, to, Rounding::Stochastic(key))
                }

                /// Returns the device memory that values of this device hold, tables that it keeps included.
                pub fn memory_use(&self) -> MemoryUse {
                    self.pool().memory_use()
                }

                /// Resets [`MemoryUse::peak_bytes`] to the bytes in use.
                pub fn reset_peak_memory(&self) {
                    self.pool().reset_peak();
                }

                /// Returns a tensor from the little-endian bytes of its elements.
                ///
                /// # Errors
                ///
                /// Returns `Length` if their number does not fit `shape`, and an error if the device has too little memory.
                pub fn from_bits(
                    &self,
                    bytes: &[u8],
                    dtype: DType,
                    shape: &[usize],
                ) -> Result<Tensor<Self>, Error> {
                    Driver::tensor_of(self, bytes, dtype, shape)
                }

                /// Waits for the device and returns the little-endian bytes of a tensor's elements, in row-major order.
                ///
                /// # Errors
                ///
                /// Returns an error if the device fails, and `Index` if an operation met an index outside its table.
                pub fn to_bits(&self, tensor: &Tensor<Self>) -> Result<Vec<u8>, Error> {
                    Driver::bits_of(self, tensor)
                }
            }
        };

        $crate::__implement_traits!($device);
    };
}
