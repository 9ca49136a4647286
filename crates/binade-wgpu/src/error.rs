//! Errors that only a device driven by wgpu has.

use binade_core::ErrorKind;
use binade_gpu::DriverError;

/// Error of an operation that the device refused, or of opening the device.
pub type Error = binade_gpu::Error<WgpuError>;

/// An error of wgpu or of the adapter's driver.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WgpuError {
    /// No usable driver, or none with the requested name.
    #[error(
        "no wgpu adapter{}: found {}; install a GPU's Vulkan driver, or to run on the CPU `apt-get install libvulkan1 \
         mesa-vulkan-drivers`, and leave BINADE_WGPU_ADAPTER unset to take what there is",
        wanted.as_ref().map(|name| format!(" whose name has `{name}` in it")).unwrap_or_default(),
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    )]
    NoAdapter {
        /// Requested part of a name.
        wanted: Option<String>,
        /// Names of the existing adapters.
        found: Vec<String>,
    },
    /// Adapter that cannot open a device.
    #[error("the adapter {adapter} gives no device: {cause}; update its driver")]
    NoDevice {
        /// Its name.
        adapter: String,
        /// The driver's own words.
        cause: String,
    },
    /// Device that failed; all values on it are lost.
    #[error("the wgpu device is lost: {cause}; nothing on it can be used, open it again")]
    Lost {
        /// The driver's own words.
        cause: String,
    },
    /// Device memory that is full.
    #[error(
        "out of device memory: {call}; use less at once, or give back what is not in use by `Wgpu::trim`"
    )]
    OutOfMemory {
        /// The call that failed.
        call: &'static str,
    },
    /// Tensor larger than the device's largest buffer, or than one binding in an operation that needs the whole tensor.
    #[error("{bytes} bytes in one tensor, of which this device takes {most}; do it in parts")]
    TooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// Maximal number of bytes.
        most: u64,
    },
    /// Any other error of wgpu or the driver.
    #[error("{call}: wgpu says {cause}")]
    Call {
        /// The call that failed.
        call: &'static str,
        /// Its own words.
        cause: String,
    },
}

impl DriverError for WgpuError {
    const BACKEND: &'static str = "wgpu";
    const HANDLE: &'static str = "Wgpu";
}

impl binade_core::Error for WgpuError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoAdapter { .. } | Self::NoDevice { .. } | Self::Lost { .. } => {
                ErrorKind::DeviceLost
            }
            Self::TooLarge { .. } => ErrorKind::Unsupported,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Call { .. } => ErrorKind::Other,
        }
    }
}
