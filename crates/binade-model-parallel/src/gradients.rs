//! Sets of gradients, and their division among devices.

use crate::{
    DeviceTensor, ModelDevice, ModelFound, ModelParallel, ModelParallelError, handle::Failed,
};
use binade_core::{GradSet, Named, NamedGrads, TrainError};
use std::{fmt, mem, sync::Arc};

/// Gradients of a model whose parameters are on several devices: a list by name until `unscale`, then a set for each device.
pub struct ModelGradients<D: GradSet>(Sets<D>);

enum Sets<D: GradSet> {
    Whole(NamedGrads<DeviceTensor<D::Tensor>>),
    Divided(Divided<D>),
}

/// Gradient sets of the devices, and the order of the whole set.
pub(crate) struct Divided<D: GradSet> {
    pub(crate) parts: Vec<D::Grads>,
    pub(crate) model: Vec<Entry>,
}

/// Parameter in the order of the whole set.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Arc<str>,
    /// Number of the device whose set lists it.
    pub(crate) device: usize,
    /// Shape of the gradient; `None` if there is none.
    pub(crate) shape: Option<Vec<usize>>,
}

impl<D: GradSet> ModelGradients<D> {
    pub(crate) fn divided(divided: Divided<D>) -> Self {
        Self(Sets::Divided(divided))
    }
}

impl<D: GradSet> Divided<D> {
    /// Returns names and shapes, by which sets are compared.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
        self.model.iter().map(|entry| (&entry.name, entry.shape.as_deref()))
    }

    /// Merges one list for each device, in the order of its set, into the model's order.
    pub(crate) fn ordered<T>(&self, lists: Vec<Vec<T>>) -> Vec<T> {
        ordered(self.model.iter().map(|entry| entry.device), lists)
    }
}

/// Merges lists, one for each device, in the order of `devices`.
pub(crate) fn ordered<T>(devices: impl Iterator<Item = usize>, lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    devices.filter_map(|device| lists.get_mut(device)?.next()).collect()
}

impl<D: ModelDevice> ModelParallel<D> {
    /// Divides a set among the devices, unless it is divided already.
    pub(crate) fn divide<'g>(
        &self,
        grads: &'g mut ModelGradients<D>,
    ) -> Result<&'g mut Divided<D>, Failed<D>> {
        self.together()?;
        if let Sets::Whole(whole) = &mut grads.0 {
            grads.0 = Sets::Divided(self.division(mem::take(whole))?);
        }
        match &mut grads.0 {
            Sets::Divided(divided) => {
                self.fits(divided.parts.len())?;
                Ok(divided)
            }
            // The set has just been divided.
            Sets::Whole(_) => Err(ModelParallelError::NotUnscaled),
        }
    }

    pub(crate) fn take_divided(
        &self,
        mut grads: ModelGradients<D>,
    ) -> Result<Divided<D>, Failed<D>> {
        self.divide(&mut grads)?;
        match grads.0 {
            Sets::Divided(divided) => Ok(divided),
            Sets::Whole(whole) => self.division(whole),
        }
    }

    /// Returns a divided set. After `unscale` every set is divided.
    pub(crate) fn as_divided<'g>(
        &self,
        grads: &'g ModelGradients<D>,
    ) -> Result<&'g Divided<D>, Failed<D>> {
        match &grads.0 {
            Sets::Divided(divided) => {
                self.fits(divided.parts.len())?;
                Ok(divided)
            }
            Sets::Whole(_) => Err(ModelParallelError::NotUnscaled),
        }
    }

    /// Assigns each gradient to a device. A missing gradient is listed on the last known device of its parameter, or else on the current device.
    fn division(
        &self,
        whole: NamedGrads<DeviceTensor<D::Tensor>>,
    ) -> Result<Divided<D>, Failed<D>> {
        let mut parts: Vec<NamedGrads<D::Tensor>> =
            self.devices().iter().map(|_| Vec::new()).collect();
        let (mut model, mut homes) = (Vec::new(), self.homes());
        for Named { name, value } in whole {
            let device = match &value {
                Some(value) => value.device,
                None => homes.get(&name).copied().unwrap_or(self.current()),
            };
            let shape = value.as_ref().map(|value| self.of(value).shape(&value.tensor));
            let devices = parts.len();
            let part = parts.get_mut(device);
            let part = part.ok_or(ModelParallelError::NoDevice { device, devices })?;
            if value.is_some() {
                homes.insert(name.clone(), device);
            }
            part.push(Named { name: name.clone(), value: value.map(|value| value.tensor) });
            model.push(Entry { name, device, shape });
        }
        Ok(Divided { parts: parts.into_iter().map(D::Grads::from).collect(), model })
    }

    /// Remembers the devices of parameters.
    pub(crate) fn remember(&self, params: &[Named<DeviceTensor<D::Tensor>>]) {
        let mut homes = self.homes();
        homes.extend(params.iter().map(|param| (param.name.clone(), param.value.device)));
    }
}

impl<D: GradSet> From<Vec<Named<Option<DeviceTensor<D::Tensor>>>>> for ModelGradients<D> {
    fn from(whole: NamedGrads<DeviceTensor<D::Tensor>>) -> Self {
        Self(Sets::Whole(whole))
    }
}

impl<D: GradSet> fmt::Debug for ModelGradients<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Sets::Whole(whole) => write!(f, "ModelGradients({} parameters)", whole.len()),
            Sets::Divided(Divided { parts, model }) => {
                write!(f, "ModelGradients({} parameters, {} devices)", model.len(), parts.len())
            }
        }
    }
}

impl<D: ModelDevice> GradSet for ModelParallel<D> {
    type Params = Vec<Named<DeviceTensor<D::Tensor>>>;
    type Grads = ModelGradients<D>;
    type Found = ModelFound<D::Found>;

    /// Returns the first device's error.
    fn train_error(&self, error: TrainError) -> Self::Error {
        ModelParallelError::Device(self.of_number(0).train_error(error))
    }

    /// Waits for the first device, whose found-inf result is that of all devices.
    fn is_raised(&self, found: &ModelFound<D::Found>) -> Result<bool, Failed<D>> {
        self.fits(found.parts.len())?;
        self.one(0, |device| device.is_raised(&found.parts[0]))
    }

    fn materialise(
        &self,
        grads: ModelGradients<D>,
    ) -> Result<NamedGrads<DeviceTensor<D::Tensor>>, Failed<D>> {
        let mut divided = self.take_divided(grads)?;
        let mut parts = mem::take(&mut divided.parts).into_iter();
        let lists = self.each(|number, device| {
            let Some(part) = parts.next() else { return Ok(Vec::new()) };
            let tensor = |tensor| DeviceTensor { tensor, device: number };
            let plain = device.materialise(part)?.into_iter();
            Ok(plain.map(|it| Named { name: it.name, value: it.value.map(tensor) }).collect())
        })?;
        Ok(divided.ordered(lists))
    }
}
