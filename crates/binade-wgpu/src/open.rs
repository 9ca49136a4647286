//! Which adapter is opened, and what is asked of it.

use crate::{DeviceLimits, Error, WgpuError, health::Health};
use std::{env, sync::Arc};
use wgpu::{
    Adapter, Backends, Device, DeviceDescriptor, DeviceType, DownlevelFlags, Instance,
    InstanceDescriptor, Limits, Queue,
};

/// The variable that names an adapter.
const VARIABLE: &str = "BINADE_WGPU_ADAPTER";

/// How a device is opened.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// A part of the adapter's name, whatever the case of its letters; `None` for the fastest kind.
    pub adapter: Option<String>,
    /// A limit on the bytes that one binding holds, below the device's own, rounded down to a multiple of 256; at least 4096.
    pub most_binding_bytes: Option<u64>,
}

impl Options {
    /// The default, with the adapter that `BINADE_WGPU_ADAPTER` names.
    pub fn from_env() -> Self {
        let named = env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        Self { adapter: named, ..Self::default() }
    }
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

/// The adapter asked for, or the first of the fastest kind.
fn choose(options: &Options) -> Result<Adapter, Error> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    let found = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    let wanted = options.adapter.as_deref();
    let is_wanted =
        |name: &str| wanted.is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()));
    let chosen = adapters.into_iter().find(|adapter| is_wanted(&adapter.get_info().name));
    chosen.ok_or_else(|| {
        Error::Driver(WgpuError::NoAdapter { wanted: wanted.map(String::from), found })
    })
}

/// The fastest kinds first.
fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// WebGPU's defaults, so that what runs here runs everywhere, but for the sizes of buffers.
fn limits(device: &Limits) -> Limits {
    Limits {
        max_buffer_size: device.max_buffer_size,
        max_storage_buffer_binding_size: device.max_storage_buffer_binding_size,
        ..Limits::default()
    }
}
