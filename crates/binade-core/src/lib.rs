#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cast;
mod dtype;
mod element;
mod error;
mod finding;
mod grad_set;
mod handle;
mod host_optimizer;
mod host_tensor;
mod matching;
mod multi_tensor;
mod named;
mod names;
mod native;
mod native_multi_tensor;
#[cfg(feature = "serde")]
pub mod non_finite;
mod op;
pub mod ops;
mod optimizer;
mod order_error;
mod promote;
mod raw;
mod sparse;
mod static_cast;
mod static_set;
pub mod stochastic;
mod train_error;

pub use dtype::{DType, Format};
pub use element::Element;
pub use error::{Error, ErrorKind};
pub use finding::{FoundInf, MergeRule, Overflow, clip_factor};
pub use grad_set::GradSet;
pub use handle::Handle;
pub use host_optimizer::HostOptimizer;
pub use host_tensor::{HostTensor, HostTypeError};
pub use matching::{MatchError, check_same_parameters};
pub use multi_tensor::{Checked, MultiTensor, Norm, Norms, check_same_set, check_types};
pub use named::{Named, NamedGrads};
pub use names::Names;
pub use native::{AmpTensor, HostDevice, HostDeviceError};
pub use op::{Op, OpClass};
pub use optimizer::Optimizer;
pub use order_error::OrderError;
pub use promote::promote;
pub use raw::{LoadError, RawTensor, SpecMismatch, TensorSpec};
pub use sparse::{Gradient, HostRows, SparseGradient, SparseGrads, SparseRows};
pub use static_cast::{StaticCast, StaticSet};
pub use static_set::{HostParams, TypedModel};
pub use train_error::TrainError;
