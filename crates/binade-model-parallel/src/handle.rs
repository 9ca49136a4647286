//! Handle of several devices that train one model.

use crate::{DeviceTensor, ModelParallelError};
use binade_autocast::Autocast;
use binade_core::ops::Shaped;
use binade_core::{Error, ErrorKind, Handle, Named, NamedGrads};
use binade_grad_scaler::PeerDevice;
use binade_master_weights::MasterWeights;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Device that can be one of several devices of a model. Every handle with these supertraits implements it.
#[rustfmt::skip]
pub trait ModelDevice:
    Autocast + Shaped
    + PeerDevice<Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

#[rustfmt::skip]
impl<D> ModelDevice for D where
    D: Autocast + Shaped
    + PeerDevice<Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

/// Handle of several devices of one kind. They train one model, whose parameters are divided among them, with one scaler and one optimizer.
///
/// # Contract
///
/// * A tensor lies on one device. [`upload`](binade_core::ops::Upload::upload) and `fill` create it on the handle's current device, which
///   [`on`](Self::on) sets and which is device 0 at first.
/// * An operation runs where its operands lie. Operands on different devices are [`ModelParallelError::DifferentDevices`].
/// * [`to_device`](binade_core::ops::ToDevice::to_device) moves a tensor; on a tape `Var::to_device` also moves the gradient back.
/// * Each device unscales, sums and steps its own gradients, at a scale of its own that has the same bits on all.
/// * `unscale` joins what the devices found: an overflow on any skips the step on all, is one overflow to the scale, and the report names the
///   first of the first device that had one. Counts are summed.
/// * `clip_norm` clips by the norm of all devices' gradients. `clip_groups` takes groups of which each lies on one device.
/// * Saved files list all parameters in the model's order and say nothing of devices.
/// * Where the store rounds by chance, parameters are numbered on each device by themselves.
/// * A call that fails on one device after another has changed is the last: later calls are [`ModelParallelError::Apart`].
pub struct ModelParallel<D> {
    shared: Arc<Shared<D>>,
    /// Number of the device on which tensors are created.
    device: usize,
}

struct Shared<D> {
    devices: Vec<D>,
    /// Last known device of each parameter, for missing gradients.
    homes: Mutex<HashMap<Arc<str>, usize>>,
    apart: OnceLock<String>,
}

/// Error type of a call on devices `D`.
pub(crate) type Failed<D> = ModelParallelError<<D as Handle>::Error>;

impl<D> ModelParallel<D> {
    /// Makes a handle of `devices`, numbered from 0 in their order.
    ///
    /// # Errors
    ///
    /// Returns [`ModelParallelError::NoDevice`] if `devices` is empty.
    pub fn new(devices: Vec<D>) -> Result<Self, Failed<D>>
    where
        D: Handle,
    {
        if devices.is_empty() {
            return Err(ModelParallelError::NoDevice { device: 0, devices: 0 });
        }
        let shared = Shared { devices, homes: Mutex::default(), apart: OnceLock::new() };
        Ok(Self { shared: Arc::new(shared), device: 0 })
    }

    /// Returns the devices, in their order.
    pub fn devices(&self) -> &[D] {
        &self.shared.devices
    }

    /// Returns a handle of the same devices that creates tensors on device `device`.
    ///
    /// # Errors
    ///
    /// Returns [`ModelParallelError::NoDevice`] if the number is out of range.
    pub fn on(&self, device: usize) -> Result<Self, Failed<D>>
    where
        D: Handle,
    {
        self.device(device)?;
        Ok(self.at(device))
    }

    /// Returns a handle of the same devices that creates tensors on device `device`, which must exist.
    pub(crate) fn at(&self, device: usize) -> Self {
        Self { shared: self.shared.clone(), device }
    }

    /// Returns the number of the current device.
    pub(crate) fn current(&self) -> usize {
        self.device
    }

    /// Locks the table of the parameters' devices. A panic cannot leave it inconsistent.
    pub(crate) fn homes(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.shared.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Handle> ModelParallel<D> {
    /// Wraps a tensor that device `device` has created.
    ///
    /// # Errors
    ///
    /// Returns [`ModelParallelError::NoDevice`] if there is no such device.
    pub fn tensor(
        &self,
        tensor: D::Tensor,
        device: usize,
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        self.device(device)?;
        Ok(DeviceTensor { tensor, device })
    }

    /// Returns the device with this number.
    pub(crate) fn device(&self, device: usize) -> Result<&D, Failed<D>> {
        let devices = self.devices().len();
        self.devices().get(device).ok_or(ModelParallelError::NoDevice { device, devices })
    }

    /// Returns the device with this number, or else the first device, which always exists.
    pub(crate) fn of_number(&self, device: usize) -> &D {
        self.devices().get(device).unwrap_or(&self.devices()[0])
    }

    /// Checks that a value has a part for each device.
    pub(crate) fn fits(&self, found: usize) -> Result<(), Failed<D>> {
        let devices = self.devices().len();
        if found == devices {
            Ok(())
        } else {
            Err(ModelParallelError::OtherDevices { found, devices })
        }
    }

    /// Runs a call on one device.
    pub(crate) fn one<T>(
        &self,
        device: usize,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, Failed<D>> {
        self.together()?;
        call(self.device(device)?).map_err(|error| on_device(device, error))
    }

    /// Runs a call on every device in turn, and returns the results in the order of the devices.
    pub(crate) fn each<T>(
        &self,
        mut call: impl FnMut(usize, &D) -> Result<T, D::Error>,
    ) -> Result<Vec<T>, Failed<D>> {
        (0..self.devices().len()).map(|number| self.one(number, |it| call(number, it))).collect()
    }

    /// Runs a call on every device in turn that changes the device. If a device after the first fails, every later call is an error, since some
    /// devices have changed and others have not.
    pub(crate) fn change<T>(
        &self,
        mut call: impl FnMut(usize, &D) -> Result<T, D::Error>,
    ) -> Result<Vec<T>, Failed<D>> {
        let mut reached = 0;
        let done = self.each(|number, device| {
            reached = number;
            call(number, device)
        });
        if let (Err(error), 1..) = (&done, reached) {
            self.come_apart(error.to_string());
        }
        done
    }

    /// Returns an error, and makes every later call return it.
    pub(crate) fn come_apart(&self, cause: String) -> Failed<D> {
        ModelParallelError::Apart { cause: self.shared.apart.get_or_init(|| cause).clone() }
    }

    pub(crate) fn together(&self) -> Result<(), Failed<D>> {
        let apart = |cause: &String| Err(ModelParallelError::Apart { cause: cause.clone() });
        self.shared.apart.get().map_or(Ok(()), apart)
    }
}

/// Adds the device's number to an error of the device. Errors of wrong arguments stay unchanged.
fn on_device<E: Error>(device: usize, source: E) -> ModelParallelError<E> {
    match source.kind() {
        ErrorKind::DeviceLost | ErrorKind::OutOfMemory | ErrorKind::Other => {
            ModelParallelError::OnDevice { device, source }
        }
        _ => ModelParallelError::Device(source),
    }
}

impl<D: Handle> Handle for ModelParallel<D> {
    type Tensor = DeviceTensor<D::Tensor>;
    type Error = ModelParallelError<D::Error>;
}

impl<D> Clone for ModelParallel<D> {
    fn clone(&self) -> Self {
        self.at(self.device)
    }
}

impl<D: fmt::Debug> fmt::Debug for ModelParallel<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices = self.devices();
        f.debug_struct("ModelParallel").field("devices", &devices).finish_non_exhaustive()
    }
}
