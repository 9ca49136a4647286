//! Errors that only a CUDA device has.

use crate::{AdoptError, CaptureError};
use binade_core::ErrorKind;
use binade_gpu::DriverError;
use std::time::Duration;

/// Why the device refused an operation, or could not be opened.
pub type Error = binade_gpu::Error<CudaError>;

impl DriverError for CudaError {
    const BACKEND: &'static str = "CUDA";
    const HANDLE: &'static str = "Cuda";
}

/// An error of the CUDA driver, its libraries, a capture, or ranks.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaError {
    /// No driver library.
    #[error(
        "no CUDA driver: looked for {looked_for} as the system's loader does; install NVIDIA's driver, or add its folder \
         to the loader's path"
    )]
    NoDriver {
        /// File names.
        looked_for: String,
    },
    /// A driver, and no such device.
    #[error("no CUDA device {ordinal}: the driver has {count}, numbered from 0")]
    NoDevice {
        /// Number of the requested device.
        ordinal: usize,
        /// Number of devices that the driver has.
        count: usize,
    },
    /// A driver library that does not start.
    #[error("the CUDA driver does not start: {cause}; look at what `nvidia-smi` says")]
    DriverFailed {
        /// The driver's own words.
        cause: String,
    },
    /// A GPU older than the kernels.
    #[error("{name} has compute capability {found}; Binade's kernels need {needed}")]
    TooOld {
        /// The device.
        name: String,
        /// Its compute capability.
        found: String,
        /// The least that will do.
        needed: &'static str,
    },
    /// Feature that this GPU's generation does not have.
    #[error(
        "{what} on a GPU of compute capability {found}, which has none; it takes {needed}, or {instead}"
    )]
    TooOldFor {
        /// Requested feature.
        what: &'static str,
        /// The device's compute capability.
        found: String,
        /// The least that has it.
        needed: &'static str,
        /// The alternative that this device has.
        instead: &'static str,
    },
    /// More work than one launch can be given.
    #[error("{what} of {sizes:?}: no kernel takes as many; do it in parts")]
    TooLarge {
        /// Requested feature.
        what: &'static str,
        /// Its extents.
        sizes: Vec<usize>,
    },
    /// A stream that is not one.
    #[error(
        "the per-thread default stream is another one on each thread; take a stream of the context, or its default stream"
    )]
    PerThreadStream,
    /// Error 222: the driver is older than the kernels' PTX.
    #[error(
        "the driver, for CUDA {driver}, does not read PTX {ptx} of kernel `{kernel}` (error 222); update the driver"
    )]
    DriverTooOld {
        /// The newest CUDA that the driver knows.
        driver: String,
        /// The version that the PTX names.
        ptx: String,
        /// Name of the kernel that could not be loaded.
        kernel: &'static str,
    },
    /// File of other kernels, named by `BINADE_CUDA_PTX`, that cannot replace this build's.
    #[error(
        "`BINADE_CUDA_PTX` names {file}: {cause}; give a `kernels.ptx.lzma` of a commit with the same kernels, or unset it"
    )]
    Kernels {
        /// Name of the file.
        file: String,
        /// Reason why it cannot be used.
        cause: String,
    },
    /// Kernel that is not valid for an update rule.
    #[error("the update rule `{rule}` cannot have this kernel: {cause}")]
    RuleKernel {
        /// Name of the rule.
        rule: &'static str,
        /// Reason why.
        cause: &'static str,
    },
    /// The device failed, and with it everything that is on it.
    #[error(
        "the CUDA device is lost: {cause}, first seen after kernel `{kernel}` was launched; nothing on it can be used, and \
         a new process is needed to open it again"
    )]
    Lost {
        /// The first error.
        cause: String,
        /// The kernel that was launched last before it was seen.
        kernel: &'static str,
    },
    /// The device's memory is full.
    #[error("out of device memory: {bytes} bytes wanted, {free} of {total} free")]
    OutOfMemory {
        /// Requested bytes.
        bytes: usize,
        /// Bytes that are free, after the pool has given back its unused buffers.
        free: usize,
        /// Bytes of the device's memory.
        total: usize,
    },
    /// Any other error of the driver.
    #[error("{call}: the CUDA driver says {cause}")]
    Call {
        /// Call that failed.
        call: &'static str,
        /// The driver's own words.
        cause: String,
    },
    /// An error of cuBLASLt or cuDNN.
    #[error(
        "{call}: {name} says {cause}; `Cuda::with_products(Products::Own)` does without the library"
    )]
    Library {
        /// Name of the library.
        name: &'static str,
        /// Call that failed.
        call: &'static str,
        /// The library's own words.
        cause: String,
    },
    /// A step that cannot be captured, or not be replayed.
    #[error("capture: `{operation}`: {why}")]
    Capture {
        /// Name of the operation, such as a kernel or a copy; `after it` in `why` means after the last such.
        operation: &'static str,
        /// The reason.
        why: CaptureError,
    },
    /// Memory of another program that cannot be adopted, or an operation on it that is refused.
    #[error("adopted memory: `{operation}`: {why}")]
    Adopt {
        /// Name of the call or operation.
        operation: &'static str,
        /// Reason of the refusal.
        why: AdoptError,
    },
    /// A captured step that was replayed, and cannot say how it went.
    #[error(
        "the step has been replayed and counted, and its report could not be sent: {cause}; read the scale by \
         `Scaler::state` to see whether it was applied, and do not replay it again in its place"
    )]
    Unreported {
        /// Why not.
        cause: String,
    },
    /// Findings of two handles that number parameters by themselves.
    #[error(
        "two handles of CUDA name parameters each by itself, so that one does not know what the other found; open both by \
         `Cuda::open_peers`"
    )]
    OtherNames,
    /// A step of a rank's own gradients.
    #[error(
        "gradients that have not been averaged over the devices; unscale them by the ranks' `Scaler`, or by \
         `Scaler::check_unscaled`"
    )]
    NotAveraged,
    /// No NCCL.
    #[error(
        "no NCCL: {cause}; install NVIDIA's package `libnccl2`, or `nvidia-nccl-cu13` from PyPI, and add its folder to the loader's path"
    )]
    NoNccl {
        /// File names that were tried, and why each file that was found is unusable.
        cause: String,
    },
    /// A call between ranks that failed. The communicator has ended: every later call of the rank returns this.
    #[error("{call}: {cause}; see the other ranks' errors, and start all again from a checkpoint")]
    Communication {
        /// Call that failed.
        call: &'static str,
        /// Reason: NCCL's own words, or the rank that has ended.
        cause: String,
    },
    /// Ranks that did not come.
    #[error(
        "{call}: {} did not come within {patience:?}: they have stalled, or make other calls; end all ranks and start again from a \
         checkpoint, or give a longer patience", late(*ranks, missing)
    )]
    RankTimeout {
        /// Call that the missing ranks did not make.
        call: &'static str,
        /// Number of ranks.
        ranks: usize,
        /// Ranks that are known to be missing.
        missing: Vec<usize>,
        /// Time that was waited.
        patience: Duration,
    },
    /// Difference between ranks. Every rank returns it.
    #[error(
        "ranks differ in {what}: rank 0 has {}, rank {rank} {}; start all ranks alike, from one checkpoint", values[0], values[1]
    )]
    Desync {
        /// Name of the thing that differs.
        what: &'static str,
        /// First rank that differs from rank 0.
        rank: usize,
        /// Value on rank 0, and on `rank`.
        values: [String; 2],
    },
    /// Window of one device, used with gradients of ranks.
    #[error("a window's sum of one device; open the window on the ranks' own `Scaler`")]
    Window,
}

impl binade_core::Error for CudaError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoDriver { .. }
            | Self::NoDevice { .. }
            | Self::DriverFailed { .. }
            | Self::NoNccl { .. }
            | Self::Communication { .. }
            | Self::RankTimeout { .. }
            | Self::Lost { .. } => ErrorKind::DeviceLost,
            Self::TooOld { .. }
            | Self::TooOldFor { .. }
            | Self::TooLarge { .. }
            | Self::DriverTooOld { .. } => ErrorKind::Unsupported,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Desync { .. } => ErrorKind::Mismatch,
            Self::Adopt { why, .. } => why.kind(),
            Self::PerThreadStream
            | Self::Kernels { .. }
            | Self::RuleKernel { .. }
            | Self::OtherNames
            | Self::NotAveraged
            | Self::Window
            | Self::Capture { .. } => ErrorKind::InvalidArgument,
            Self::Call { .. } | Self::Library { .. } | Self::Unreported { .. } => ErrorKind::Other,
        }
    }
}

/// Names the ranks that did not come.
fn late(ranks: usize, missing: &[usize]) -> String {
    match missing {
        [] => format!("some of {ranks} ranks"),
        missing => format!("ranks {missing:?} of {ranks}"),
    }
}
