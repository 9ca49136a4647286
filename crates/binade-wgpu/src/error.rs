//! What can go wrong on a device that wgpu drives.

use binade_core::{DType, ErrorKind, MatchError, TrainError};
use binade_grad_scaler::ClipGroupError;
use binade_master_weights::PlanError;
use binade_ops::{DTypeError, OperandError, ShapeError};

/// Why the device refused an operation, or could not be opened.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No driver that wgpu can use, or none of the name asked for.
    #[error(
        "no wgpu adapter{}: found {}; install a GPU's Vulkan driver, or to run on the CPU `apt-get install libvulkan1 \
         mesa-vulkan-drivers`, and leave BINADE_WGPU_ADAPTER unset to take what there is",
        wanted.as_ref().map(|name| format!(" whose name has `{name}` in it")).unwrap_or_default(),
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    )]
    NoAdapter {
        /// The part of a name that was asked for.
        wanted: Option<String>,
        /// The names of those that are there.
        found: Vec<String>,
    },
    /// An adapter that gives no device.
    #[error("the adapter {adapter} gives no device: {cause}; update its driver")]
    NoDevice {
        /// Its name.
        adapter: String,
        /// The driver's own words.
        cause: String,
    },
    /// The device failed, and with it everything that is on it.
    #[error("the wgpu device is lost: {cause}; nothing on it can be used, open it again")]
    Lost {
        /// The driver's own words.
        cause: String,
    },
    /// The device's memory is full.
    #[error(
        "out of device memory: {call}; use less at once, or give back what is not in use by `Wgpu::trim`"
    )]
    OutOfMemory {
        /// What was being done.
        call: &'static str,
    },
    /// More than one buffer of the device holds, or one binding where an operation needs a tensor whole.
    #[error("{bytes} bytes in one tensor, of which this device takes {most}; do it in parts")]
    TooLarge {
        /// What was asked for.
        bytes: usize,
        /// The most there can be.
        most: u64,
    },
    /// Memory of another handle.
    #[error(
        "a value of another `Wgpu` handle, whose work is in no order with this one's; open the device once and clone the \
         handle, or bring the value over by way of the host"
    )]
    Foreign,
    /// Any other error of wgpu or the driver.
    #[error("{call}: wgpu says {cause}")]
    Driver {
        /// What was being done.
        call: &'static str,
        /// Its own words.
        cause: String,
    },
    /// The operands' shapes do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The operands' element types do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// Not as many values as the shape has room for.
    #[error("{found} {what} for shape {shape:?}, which takes {expected}")]
    Length {
        /// Elements or bytes.
        what: &'static str,
        /// How many were given.
        found: usize,
        /// The shape asked for.
        shape: Vec<usize>,
        /// How many it takes.
        expected: usize,
    },
    /// Sets that do not go together.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// Refused by training on every device.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A limit that is no limit.
    #[error("{what}: a limit of {value} given, takes a positive number")]
    Limit {
        /// The operation's name.
        what: &'static str,
        /// The number given.
        value: f32,
    },
    /// A plan that does not go with the parameters.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A rule without a shader.
    #[error("the wgpu backend has no shader for {rule}; it steps by SGD, Adam and AdamW")]
    Rule {
        /// The rule.
        rule: String,
    },
    /// A plan that asks for what no shader does.
    #[error(
        "the wgpu backend has no shader for {what}; it keeps masters by `Copy`, `Remainder`, `Stochastic`, `Kahan` and \
         `ScaledF16`, or none by `NoMaster`"
    )]
    Store {
        /// What the plan asks for.
        what: String,
    },
    /// Groups to clip by that do not go with the gradients.
    #[error(transparent)]
    ClipGroup(#[from] ClipGroupError),
    /// An index or label that points nowhere, which the device found and the host is told of when it reads.
    #[error("{op}: index {index} at position {position}; expected 0 ≤ index < {limit}")]
    Index {
        /// The operation's name.
        op: &'static str,
        /// The index.
        index: i64,
        /// Where it stands among the indices.
        position: usize,
        /// How many rows or classes there are.
        limit: usize,
    },
    /// An element type without shaders.
    #[error(
        "the wgpu backend cannot {what} {dtype}; it computes in bf16, f16 and f32, and stores and casts e4m3 and \
         e5m2 too"
    )]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// The element type.
        dtype: DType,
    },
}

impl binade_core::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoAdapter { .. } | Self::NoDevice { .. } | Self::Lost { .. } => {
                ErrorKind::DeviceLost
            }
            Self::TooLarge { .. }
            | Self::Rule { .. }
            | Self::Store { .. }
            | Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Shape(error) => error.kind(),
            Self::ClipGroup(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::DType(_)
            | Self::Length { .. }
            | Self::Match(_)
            | Self::Plan(_)
            | Self::Foreign => ErrorKind::Mismatch,
            Self::Limit { .. } | Self::Index { .. } => ErrorKind::InvalidArgument,
            Self::Driver { .. } => ErrorKind::Other,
        }
    }
}

impl From<OperandError> for Error {
    fn from(error: OperandError) -> Self {
        match error {
            OperandError::Shape(error) => Self::Shape(error),
            OperandError::DType(error) => Self::DType(error),
        }
    }
}
