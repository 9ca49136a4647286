//! Facts about the device.

use crate::Options;
use std::fmt;
use wgpu::{Adapter, DeviceType, Features, Limits};

/// Device and its abilities. `Display` prints one line.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceLimits {
    /// Name of the adapter, as the driver states it.
    pub adapter: String,
    /// Driver and its version, as the driver states them; may be empty.
    pub driver: String,
    /// Backend of wgpu: Vulkan, Metal or DX12.
    pub backend: String,
    /// True if the device is a driver that runs on the CPU.
    pub is_software: bool,
    /// True if the device has `f16` in shaders. Binade's shaders do not use it: they keep halves as bits on every device.
    pub has_f16: bool,
    /// True if the device has subgroups. Binade's shaders do not use them: the order of sums depends only on the shape.
    pub has_subgroups: bool,
    /// Maximal number of bytes of one binding; a larger tensor is processed in parts.
    pub most_binding_bytes: u64,
    /// Maximal number of bytes of one tensor.
    pub most_buffer_bytes: u64,
}

/// Alignment of a part's start: a multiple of what bindings are aligned to on every device.
pub(crate) const ALIGNED: u64 = 256;

/// Least limit of a binding.
const LEAST_BINDING: u64 = 4096;

impl DeviceLimits {
    pub(crate) fn of(adapter: &Adapter, limits: &Limits, options: &Options) -> Self {
        let (info, features) = (adapter.get_info(), adapter.features());
        let most = options.most_binding_bytes.unwrap_or(u64::MAX).max(LEAST_BINDING);
        let most = most.min(limits.max_storage_buffer_binding_size);
        Self {
            adapter: info.name.clone(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            backend: info.backend.to_string(),
            is_software: info.device_type == DeviceType::Cpu,
            has_f16: features.contains(Features::SHADER_F16),
            has_subgroups: features.contains(Features::SUBGROUP),
            most_binding_bytes: most / ALIGNED * ALIGNED,
            most_buffer_bytes: limits.max_buffer_size,
        }
    }
}

impl fmt::Display for DeviceLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { adapter, driver, backend, .. } = self;
        let has = |what: bool| if what { "with" } else { "without" };
        let (f16, subgroups) = (has(self.has_f16), has(self.has_subgroups));
        write!(
            f,
            "{adapter} ({backend}, {driver}), {f16} f16, {subgroups} subgroups; shaders use neither"
        )
    }
}
