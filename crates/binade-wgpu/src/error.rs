//! Errors that only a device driven by wgpu has.

use binade_core::ErrorKind;
use binade_gpu::DriverError;

/// Why the device refused an operation, or could not be opened.
pub type Error = binade_gpu::Error<WgpuError>;

/// An error of wgpu or of the adapter's driver.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WgpuError {
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
        /// The names of the adapters that there are.
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
    /// A device that failed, and with it everything that is on it.
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
    /// A tensor larger than the device's largest buffer, or than one binding where an operation needs it whole.
    #[error("{bytes} bytes in one tensor, of which this device takes {most}; do it in parts")]
    TooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// Most bytes that there can be.
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
