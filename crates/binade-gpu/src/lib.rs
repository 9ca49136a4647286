#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bundle;
mod device;
mod driver;
mod error;
mod forward;
mod found;
mod gradients;
mod host;
mod kernels;
mod layout;
mod masters;
mod memory;
mod multi_tensor;
mod ops;
mod scaler;
mod state;
mod sync;
mod tensor;
#[doc(hidden)]
pub mod testing;

pub use bundle::unpack_kernels;
pub use device::Gpu;
pub use driver::{BufferOf, Driver, Result, Rounding, made_once};
pub use error::{DriverError, Error};
pub use found::{Found, finding_offset};
pub use gradients::{Gradients, GroupClip, Materialise, PresentGradient, trained};
pub use host::check_length;
pub use kernels::{Kernels, SparseParts};
pub use masters::{
    MasterState, Masters, ParamState, RuleNumbers, Rules, ScaledMaster, Step, StepParam, StepState,
};
pub use memory::{Addressed, Buffer, Memory, MemoryUse, Pool, is_alone};
pub use multi_tensor::{Computed, MultiTensorKernels, Term};
pub use ops::{
    Attention, AttentionKernels, AvgPool2dKernels, BatchNormKernels, ChannelGroups, ChannelKernels,
    Channels, Conv2dKernels, CrossEntropyKernels, EmbeddingKernels, Gemm, GemmKernels, Geometry,
    GroupNormKernels, Layer, LayerNormKernels, MaskedFillKernels, Matrices, MaxPool2dKernels,
    NarrowKernels, NormBackward, NormCall, NormStep, PermuteKernels, PointwiseKernels, PoolingBits,
    RmsNormKernels, RotaryEmbeddingKernels, RowKernels, Total, TotalKernels,
};
pub use scaler::{Readers, Report, Reported, Scale};
pub use state::{FoundBits, LogMaxBits, LossScaleBits, OwedBits, ScaleBits};
pub use sync::{Counter, lock};
pub use tensor::{Rows, Tensor};

#[doc(hidden)]
pub use device::__private;
