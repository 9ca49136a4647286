//! Handle of several devices.

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

/// Device of which several can train one model. No type implements it by hand: every handle with these traits has it.
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

/// Several devices of one kind as one handle: a model whose parameters are divided among them, trained by one scaler and one optimizer.
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
    /// Number of the device that tensors are created on.
    device: usize,
}

struct Shared<D> {
    devices: Vec<D>,
    /// Device of each parameter that was seen, for gradients that are missing.
    homes: Mutex<HashMap<Arc<str>, usize>>,
    apart: OnceLock<String>,
}

/// Error of a call on devices `D`.
pub(crate) type Failed<D> = ModelParallelError<<D as Handle>::Error>;

impl<D> ModelParallel<D> {
    /// Makes a handle of `devices`, which are numbered in their order.
    ///
    /// # Errors
    ///
    /// [`ModelParallelError::NoDevice`] without a device.
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

    /// Returns the same devices, with tensors created on the one of this number.
    ///
    /// # Errors
    ///
    /// [`ModelParallelError::NoDevice`] if there is none.
    pub fn on(&self, device: usize) -> Result<Self, Failed<D>>
    where
        D: Handle,
    {
        self.device(device)?;
        Ok(self.at(device))
    }

    /// Returns the same devices, with tensors created where `tensor` lies.
    pub(crate) fn at(&self, device: usize) -> Self {
        Self { shared: self.shared.clone(), device }
    }

    /// Returns the number of the current device.
    pub(crate) fn current(&self) -> usize {
        self.device
    }

    /// Locks the devices of parameters. A panic leaves the table whole.
    pub(crate) fn homes(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.shared.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Handle> ModelParallel<D> {
    /// Makes a tensor of the model of one that the device of this number has made.
    ///
    /// # Errors
    ///
    /// [`ModelParallelError::NoDevice`] if there is no such device.
    pub fn tensor(
        &self,
        tensor: D::Tensor,
        device: usize,
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        self.device(device)?;
        Ok(DeviceTensor { tensor, device })
    }

    /// Returns the device of this number.
    pub(crate) fn device(&self, device: usize) -> Result<&D, Failed<D>> {
        let devices = self.devices().len();
        self.devices().get(device).ok_or(ModelParallelError::NoDevice { device, devices })
    }

    /// Returns the device of this number, or the first, which every model has.
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

    /// Makes a call of one device.
    pub(crate) fn one<T>(
        &self,
        device: usize,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, Failed<D>> {
        self.together()?;
        call(self.device(device)?).map_err(|error| on_device(device, error))
    }

    /// Makes a call of every device in turn, and returns the results in their order.
    pub(crate) fn each<T>(
        &self,
        mut call: impl FnMut(usize, &D) -> Result<T, D::Error>,
    ) -> Result<Vec<T>, Failed<D>> {
        (0..self.devices().len()).map(|number| self.one(number, |it| call(number, it))).collect()
    }

    /// Makes a call of every device in turn that changes it. An error after the first device ends the model, since some devices have
    /// changed and others have not.
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

    /// Ends the model: every later call is the error that this returns.
    pub(crate) fn come_apart(&self, cause: String) -> Failed<D> {
        ModelParallelError::Apart { cause: self.shared.apart.get_or_init(|| cause).clone() }
    }

    pub(crate) fn together(&self) -> Result<(), Failed<D>> {
        let apart = |cause: &String| Err(ModelParallelError::Apart { cause: cause.clone() });
        self.shared.apart.get().map_or(Ok(()), apart)
    }
}

/// Adds the device's number to an error that is the device's own; those of wrong arguments stay as they are.
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
