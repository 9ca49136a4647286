//! Operations of a network, as small traits over a device's handle.
//!
//! Each trait has the forward and backward methods of one operation. Its contract states the type of accumulation, the places of
//! rounding and the errors. The module itself computes no elements: [`OpInvocation::check`] gives the shape and type of a result,
//! so that an asynchronous device knows them at the call.
//!
//! | | |
//! |---|---|
//! | products | [`MatMul`] [`Bmm`] [`Linear`] [`LinearRelu`] [`Conv2d`] [`ScaledDotProductAttention`] |
//! | normalisation | [`LayerNorm`] [`RmsNorm`] [`GroupNorm`] [`BatchNorm`] [`Softmax`] [`LogSoftmax`] |
//! | losses and sums, f32 scalars | [`CrossEntropy`] [`MseLoss`] [`Sum`] [`Mean`] |
//! | averages | [`AvgPool2d`] [`AdaptiveAvgPool2d`] |
//! | elementwise | [`Add`] [`Mul`] [`BiasAdd`] [`Dropout`] [`RotaryEmbedding`], and activations such as [`Relu`] and [`Gelu`]: [`Ops`] lists them |
//! | moves of elements | [`Embedding`], [`SparseEmbedding`] with a gradient of rows, [`MaxPool2d`] [`Permute`] [`Reshape`] |
//! | several devices | [`SyncBatchNorm`], of devices that meet; [`ToDevice`] |
//! | host and device | [`Shaped`] [`Upload`] [`Fill`] and [`Download`], the only one that reads |
//!
//! Rules of all operations:
//!
//! * Arithmetic is f32 or wider whatever the storage, and the result is narrowed once, to nearest even.
//! * A result has the element type of the first operand; losses and sums are f32 scalars, of shape `[]`.
//! * Operands of one operation have one element type; normalisation also takes f32 parameters with a 16-bit input. Autocast casts
//!   operands; an operation does not.
//! * A backward method takes a gradient with the shape and element type of the result, and returns gradients with those of the
//!   operands.
//! * Backward methods take the unchanged operands or results as arguments; the forward pass saves nothing.
//! * Results do not depend on the number of threads.
//! * Empty tensors are allowed: their sum is 0, their mean NaN.
//!
//! Code that needs a few operations has their traits as bounds; code that needs all of them has the bound [`Ops`]:
//!
//! ```
//! use binade_core::ops::{Linear, MseLoss, Relu};
//!
//! /// Returns the loss of a layer, on any device.
//! fn loss<D: Linear + Relu + MseLoss>(
//!     device: &D,
//!     [x, weight, bias, target]: [&D::Tensor; 4],
//! ) -> Result<D::Tensor, D::Error> {
//!     let hidden = device.relu(&device.linear(x, weight, Some(bias))?)?;
//!     device.mse_loss(&hidden, target)
//! }
//! ```
//!
//! # Lists of operations
//!
//! [`for_each_op!`] is the table of operations: a row each, with the operation's methods. Every list of operations is expanded
//! from it: the bound [`Ops`], the modules of a backend ([`op_modules!`]), a call as a value ([`OpInvocation`]), and a device
//! that forwards operations to another ([`forward_ops!`]).

#[macro_use]
mod table;

mod check;
mod error;
mod forward;
mod host;
mod host_device;
mod image_layout;
mod invocation;
mod operands;
mod results;
pub mod shape;
mod shaped;
mod sparse_embedding;
mod sync_batch_norm;
mod to_device;

pub use crate::{for_each_op, forward_ops, op_modules};
pub use error::{DTypeError, OperandError, ShapeError};
pub use forward::Invoke;
pub use host::{Download, Upload};
pub use image_layout::{ImageLayout, channels_first, channels_last};
pub use invocation::OpInvocation;
pub use shaped::Shaped;
pub use sparse_embedding::SparseEmbedding;
pub use sync_batch_norm::{SyncBatchNorm, SyncBatchNormOutput, SyncedBatch};
pub use to_device::ToDevice;

use results::Results;

/// Module of each operation, and the trait of all of them.
macro_rules! operations {
    ({} $($trait:ident $file:ident $methods:tt)*) => {
        $(
            mod $file;
            pub use $file::*;
        )*

        /// Device that has every operation.
        ///
        /// Every handle with all these traits has it. Code that needs three operations has only those three as bounds:
        $(#[doc = concat!("[`", stringify!($trait), "`]")])*
        pub trait Ops: Shaped + Upload + Download $(+ $trait)* {}

        impl<D: ?Sized + Shaped + Upload + Download $(+ $trait)*> Ops for D {}
    };
}

for_each_op!([operations]);

/// Names that the macros of this crate need in the crates that call them.
#[doc(hidden)]
pub mod __private {
    pub use crate::DType;
    pub use crate::ops::results::exactly;
    pub use crate::ops::{
        AttentionConfig, AvgPool2dConfig, BatchNormConfig, Conv2dConfig, MaxPool2dConfig,
    };
}
