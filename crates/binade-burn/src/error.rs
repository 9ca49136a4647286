//! Errors. A call at which burn would panic is refused first.

use binade_cast_policy::PolicyError;
use binade_core::{DType, ErrorKind, HostDeviceError};
use burn::tensor::ExecutionError;

/// Error of the handle's methods.
pub type Error = HostDeviceError<TensorError>;

/// Error of one tensor, or of the tensors of a module.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// Type that the device cannot compute in.
    #[error(
        "burn cannot compute in {dtype} on {device}: choose a type for which `device.supports_dtype` is true, or another device{}",
        on_a_cpu(*dtype)
    )]
    Unsupported {
        /// Type asked for.
        dtype: DType,
        /// Device, as burn prints it.
        device: String,
    },
    /// Data of a type that is not floating-point.
    #[error("a tensor of floats was asked for, of data of type {0:?}: convert it first")]
    NoFloats(burn::tensor::DType),
    /// A cast that burn rounds twice.
    #[error(
        "burn rounds f64 to {to} by way of f32, which may round twice: cast to f32 first, where that is meant"
    )]
    TwoRoundings {
        /// Type asked for.
        to: DType,
    },
    /// A tensor of another number of axes.
    #[error("a tensor of {found} axes was asked for as one of {asked}: its shape is {shape:?}")]
    Rank {
        /// Number of axes that it has.
        found: usize,
        /// Number of axes asked for.
        asked: usize,
        /// Shape of the tensor.
        shape: Vec<usize>,
    },
    /// A loss that depends on no parameter that requires a gradient.
    #[error(
        "the loss depends on no parameter that requires a gradient: make the model on `device.autodiff()`, and compute the \
         loss from it"
    )]
    Untracked,
    /// A parameter that cannot be used this way.
    #[error("`{path}`: {why}")]
    Parameter {
        /// Path of the parameter in the module.
        path: String,
        /// Reason, and the remedy.
        why: String,
    },
    /// A pattern given to [`Views::keep`](crate::Views::keep) covers no parameter.
    #[error(
        "`{pattern}` is to be kept, and covers no parameter: of this module's {count} the first is `{first}`; `**.bias` covers a \
         bias at any depth"
    )]
    NothingKept {
        /// Pattern.
        pattern: String,
        /// Number of parameters of the module.
        count: usize,
        /// Path of the first parameter; empty if there is none.
        first: String,
    },
    /// Gradients of another module.
    #[error(
        "{count} gradients belong to no parameter of this module: take them from a loss of this module, by \
         `GradientsParams::from_grads` with the same module"
    )]
    Strangers {
        /// Number of gradients.
        count: usize,
    },
    /// Layer that the policy refuses.
    #[error(transparent)]
    Refused(PolicyError),
    /// burn failed to execute something.
    #[error("burn failed on its device")]
    Device(#[from] ExecutionError),
}

/// Returns a hint for CPUs: burn's `ndarray` has no sixteen-bit floats, and `flex` has.
const fn on_a_cpu(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 | DType::F16 => "; on a CPU `Device::flex()` has f16 and bf16",
        _ => "",
    }
}

impl binade_core::Error for TensorError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unsupported { .. } | Self::NoFloats(_) | Self::TwoRoundings { .. } => {
                ErrorKind::Unsupported
            }
            Self::Rank { .. } | Self::Parameter { .. } | Self::Strangers { .. } => {
                ErrorKind::Mismatch
            }
            Self::Refused(refusal) => refusal.kind(),
            Self::Untracked | Self::NothingKept { .. } => ErrorKind::InvalidArgument,
            Self::Device(_) => ErrorKind::Other,
        }
    }
}
