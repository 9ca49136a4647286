//! Choice of an adapter and of the device's limits.

use crate::{DeviceLimits, Error, WgpuError, health::Health};
use std::{env, sync::Arc};
use wgpu::{
    Adapter, Backends, Device, DeviceDescriptor, DeviceType, DownlevelFlags, Instance,
    InstanceDescriptor, Limits, Queue,
};

/// Environment variable that names an adapter.
const VARIABLE: &str = "BINADE_WGPU_ADAPTER";

/// Choice of a device and of its limits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Part of the adapter's name, ignoring case. `None` for the adapter that the environment variable `BINADE_WGPU_ADAPTER` names in the same way,
    /// or for the fastest kind if the variable is not set.
    pub adapter: Option<String>,
    /// Limit on the bytes of one binding, below the device's own limit. It is rounded down to a multiple of 256, and is at least 4096.
    pub most_binding_bytes: Option<u64>,
}

pub(crate) struct OpenedDevice {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) facts: DeviceLimits,
    pub(crate) health: Arc<Health>,
}

pub(crate) fn open(options: &Options) -> Result<OpenedDevice, Error> {
    let adapter = choose(options)?;
    let name = adapter.get_info().name;
    let failed =
        |cause: String| Error::Driver(WgpuError::NoDevice { adapter: name.clone(), cause });
    if !adapter.get_downlevel_capabilities().flags.contains(DownlevelFlags::COMPUTE_SHADERS) {
        return Err(failed("it has no compute shaders".into()));
    }
    let descriptor = DeviceDescriptor {
        required_limits: limits(&adapter.limits()),
        ..DeviceDescriptor::default()
    };
    let requested = pollster::block_on(adapter.request_device(&descriptor));
    let (device, queue) = requested.map_err(|error| failed(error.to_string()))?;
    let facts = DeviceLimits::of(&adapter, &device.limits(), options);
    let health = Arc::<Health>::default();
    health.watch(&device);
    Ok(OpenedDevice { device, queue, facts, health })
}

/// Chooses the adapter asked for, or the first of the fastest kind.
fn choose(options: &Options) -> Result<Adapter, Error> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    let found = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    let named = || env::var(VARIABLE).ok().filter(|name| !name.is_empty());
    let wanted = options.adapter.clone().or_else(named);
    let is_wanted = |name: &str| {
        wanted.as_ref().is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()))
    };
    let chosen = adapters.into_iter().find(|adapter| is_wanted(&adapter.get_info().name));
    chosen.ok_or(Error::Driver(WgpuError::NoAdapter { wanted, found }))
}

/// Returns the rank of a kind, 0 for the fastest.
fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// Returns WebGPU's default limits, except for buffer sizes, so that shaders run on every device.
fn limits(device: &Limits) -> Limits {
    Limits {
        max_buffer_size: device.max_buffer_size,
        max_storage_buffer_binding_size: device.max_storage_buffer_binding_size,
        ..Limits::default()
    }
}
