//! Errors: candle's own, sorted by kind, and those of sets that do not match.

use binade_autocast::CastError;
use binade_core::{DType, ErrorKind, HostDeviceError, HostTypeError};
use candle_core::Error as Candle;
use std::sync::Arc;

/// Error of [`Candle`](crate::Candle).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error of candle.
    #[error(transparent)]
    Candle(#[from] Candle),
    /// A set of gradients or parameters that does not match, or a number out of range.
    #[error(transparent)]
    Set(#[from] HostDeviceError<HostTypeError>),
    /// Error of `binade-cuda`.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] binade_cuda::Error),
    /// A tensor that is not on a CUDA device.
    #[cfg(feature = "cuda")]
    #[error(
        "`{name}` is not on a CUDA device; move it there by `to_device`, or use the handle `Candle`"
    )]
    NotOnCuda {
        /// Name of the tensor.
        name: Arc<str>,
    },
    /// A parameter that is not contiguous.
    #[cfg(feature = "cuda")]
    #[error(
        "`{name}` is not contiguous, so that no kernel of `binade-cuda` takes it; make the `Var` of `contiguous()`"
    )]
    Strided {
        /// Name of the parameter.
        name: Arc<str>,
    },
    /// A region's operands could not be cast.
    #[error(transparent)]
    Cast(Box<CastError<Self>>),
    /// A type that this crate casts no tensor to.
    #[error("candle's tensors are not cast to {dtype} here; cast to bf16, f16, f32 or f64")]
    NoSuchType {
        /// Type asked for.
        dtype: DType,
    },
    /// candle's cast from f64 to sixteen bits rounds twice.
    #[error(
        "candle casts f64 to {to} by way of f32, which rounds twice; cast to f32 first where that is meant"
    )]
    RoundsTwice {
        /// Type asked for.
        to: DType,
    },
    /// A gradient or parameter of a type that is not trained.
    #[error(
        "`{name}` is of candle's type {dtype:?}; gradients and parameters are of BF16, F16 or F32: cast it first"
    )]
    Untrainable {
        /// Name of the gradient or parameter.
        name: Arc<str>,
        /// Type of its elements.
        dtype: candle_core::DType,
    },
    /// Two parameters of an optimizer are one `Var`, which each step would move twice.
    #[error(
        "`{first}` and `{second}` are one `Var`, which each step would move twice: leave one of the names out"
    )]
    Tied {
        /// First of its names.
        first: Arc<str>,
        /// Other name.
        second: Arc<str>,
    },
    /// Gradients that match no parameter: the optimizer has none of that name, or its gradient was given already.
    #[error(
        "gradients came for {} that no parameter of the optimizer is waiting for: it has none of that name, or a gradient had come \
         already",
        quoted(names)
    )]
    Strangers {
        /// Names of all these gradients.
        names: Vec<Arc<str>>,
    },
    /// List without parameters.
    #[error(
        "there are no parameters, and nothing would be trained: build the model before `params(&map)`, since its layers make the `Var`s"
    )]
    NoParameters,
    /// A table of a look-up is no `Var`.
    #[error(
        "a table that is looked up has to be a `Var`, since the gradient of a cast would be lost: give the parameter, and cast the rows"
    )]
    TableIsNoVar,
    /// A look-up's table is none of the parameters.
    #[error(
        "a table was looked up that is none of the parameters: look up a `Var` of `optimizer.params`, and not one of the map that they \
         were made of"
    )]
    StrangeTable,
    /// A tensor to be set is no `Var`, so only a copy would be set.
    #[error("`{name}` is a tensor and no `Var`, so that it cannot be set: give the `Var` itself")]
    NotVar {
        /// Name of the tensor.
        name: Arc<str>,
    },
}

fn quoted(names: &[Arc<str>]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl From<CastError<Self>> for Error {
    fn from(error: CastError<Self>) -> Self {
        Self::Cast(Box::new(error))
    }
}

impl binade_core::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Candle(error) => kind(error),
            Self::Set(error) => error.kind(),
            Self::Cast(error) => error.kind(),
            Self::NoSuchType { .. } | Self::RoundsTwice { .. } | Self::Untrainable { .. } => {
                ErrorKind::Unsupported
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(error) => error.kind(),
            #[cfg(feature = "cuda")]
            Self::NotOnCuda { .. } => ErrorKind::Mismatch,
            #[cfg(feature = "cuda")]
            Self::Strided { .. } => ErrorKind::InvalidArgument,
            Self::Strangers { .. } => ErrorKind::Mismatch,
            Self::Tied { .. }
            | Self::NoParameters
            | Self::TableIsNoVar
            | Self::StrangeTable
            | Self::NotVar { .. } => ErrorKind::InvalidArgument,
        }
    }
}

/// Returns the kind of candle's error, under any errors that wrap it.
fn kind(error: &Candle) -> ErrorKind {
    match error {
        Candle::Context { inner, .. }
        | Candle::WithPath { inner, .. }
        | Candle::WithBacktrace { inner, .. } => kind(inner),
        Candle::UnsupportedDTypeForOp(..)
        | Candle::BackwardNotSupported { .. }
        | Candle::NotCompiledWithCudaSupport
        | Candle::NotCompiledWithMetalSupport
        | Candle::UnsupportedSafeTensorDtype(_) => ErrorKind::Unsupported,
        Candle::UnexpectedDType { .. }
        | Candle::DTypeMismatchBinaryOp { .. }
        | Candle::DeviceMismatchBinaryOp { .. }
        | Candle::UnexpectedNumberOfDims { .. }
        | Candle::UnexpectedShape { .. }
        | Candle::DimOutOfRange { .. }
        | Candle::ShapeMismatch { .. }
        | Candle::ShapeMismatchBinaryOp { .. }
        | Candle::BroadcastIncompatibleShapes { .. } => ErrorKind::Mismatch,
        Candle::DuplicateDimIndex { .. }
        | Candle::NarrowInvalidArgs { .. }
        | Candle::InvalidIndex { .. }
        | Candle::EmptyTensor { .. }
        | Candle::CannotSetVar { .. } => ErrorKind::InvalidArgument,
        _ => ErrorKind::Other,
    }
}
