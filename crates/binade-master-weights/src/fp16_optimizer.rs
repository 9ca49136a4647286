//! Masters for an optimizer of the user's own, on any device: Apex's `FP16_Optimizer`.

use binade_core::ops::{Download, Shaped, Upload};
use binade_core::{
    DType, LoadError, MatchError, MultiTensor, Named, NamedGrads, Optimizer, RawTensor,
    SpecMismatch, TensorSpec, TrainError, check_same_parameters,
};
use std::fmt;

/// Operands of an update rule of the user's own. All of them are `f32`, on the device.
#[derive(Debug)]
pub struct MasterStep<'a, T> {
    /// Masters, in the order of the parameters.
    pub masters: &'a [Named<T>],
    /// Gradients of the same parameters, unscaled and clipped; `None` is a missing one.
    pub grads: &'a NamedGrads<T>,
    /// State of [`Fp16Optimizer::with_state`], as the last applied step left it.
    pub state: &'a [Named<T>],
}

impl<T: Clone> MasterStep<'_, T> {
    /// Returns the gradients that are not missing, as a set of tensors.
    ///
    /// The set leaves out parameters without a gradient, so it matches the masters only if no gradient is missing.
    pub fn present(&self) -> Vec<Named<T>> {
        let one =
            |grad: &Named<Option<T>>| Some(Named::new(grad.name.clone(), grad.value.clone()?));
        self.grads.iter().filter_map(one).collect()
    }
}

/// Result of a user-defined update rule: the next masters and state, with the names and shapes of the rule's arguments.
#[derive(Clone, Debug)]
pub struct MasterSet<T> {
    /// Masters, in the order of the parameters.
    pub masters: Vec<Named<T>>,
    /// State, in the order of the rule's argument.
    pub state: Vec<Named<T>>,
}

/// Optimizer that keeps `f32` masters and steps them by an update rule of the user's own: Apex's `FP16_Optimizer(optimizer)`.
///
/// The rule is a closure from masters, gradients and state to the next masters and state. It computes by operations of the device, and the host reads
/// nothing: the results are assigned on the device, unless the gradients overflowed, and the parameters in sixteen bits are cast from the masters. If
/// the step is skipped, masters, state and parameters keep their bits. The rule is called in skipped steps too, so it must count steps in its state,
/// not in a variable.
///
/// A step waits for the device if only the device knows which gradients are missing, as in a window's sum on a GPU.
///
/// # Examples
///
/// SGD with momentum:
///
/// ```
/// use binade_core::{DType, FoundInf, HostDevice, HostTensor, MultiTensor, Named, NamedGrads, Optimizer};
/// use binade_master_weights::{Fp16Optimizer, MasterSet};
///
/// let device = HostDevice::<HostTensor>::new();
/// let set = |values: [f32; 2]| vec![Named::new("weight", HostTensor::from(values.to_vec()))];
/// let mut optimizer = Fp16Optimizer::new(device, set([1.0, 2.0]), DType::F16, |step| {
///     let (momentum, _) = device.axpby((0.5, step.state), (1.0, &step.present()))?;
///     let (masters, _) = device.axpby((1.0, step.masters), (-0.25, &momentum))?;
///     Ok(MasterSet { masters, state: momentum })
/// })?
/// .with_state(&set([0.0, 0.0]))?;
///
/// let grads: NamedGrads<_> = vec![Named::new("weight", Some(HostTensor::from(vec![4.0, 8.0])))];
/// optimizer.step(grads, &FoundInf::default())?;
/// assert_eq!(optimizer.masters()[0].value.to_f32(), [0.0, 0.0]);
/// assert_eq!(optimizer.params[0].value.to_f32(), [0.0, 0.0]);
/// # Ok::<(), binade_core::HostDeviceError<binade_core::HostTypeError>>(())
/// ```
pub struct Fp16Optimizer<D: MultiTensor, F> {
    device: D,
    /// Masters, and behind them the state.
    current: Vec<Named<D::Tensor>>,
    /// Element types of the parameters, of which there are as many as masters.
    types: Vec<DType>,
    update: F,
    /// Parameters that the model computes with, cast from the masters after each step.
    pub params: Vec<Named<D::Tensor>>,
}

impl<D, F> Fp16Optimizer<D, F>
where
    D: MultiTensor<Tensor: Clone>,
    F: FnMut(MasterStep<'_, D::Tensor>) -> Result<MasterSet<D::Tensor>, D::Error>,
{
    /// Takes over `params`: keeps masters of their present values, and stores the parameters in `dtype`. `update` is the rule.
    ///
    /// # Errors
    ///
    /// If the device fails, or cannot cast a parameter.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the parameters are taken over, as by `MasterOptimizer`"
    )]
    pub fn new(
        device: D,
        params: Vec<Named<D::Tensor>>,
        dtype: DType,
        update: F,
    ) -> Result<Self, D::Error> {
        let current = device.cast_all(&params, &vec![DType::F32; params.len()])?;
        let types = vec![dtype; params.len()];
        let params = device.cast_all(&current, &types)?;
        Ok(Self { device, current, types, update, params })
    }

    /// Stores the parameters of these names in `f32`, for example those of normalisations.
    ///
    /// # Errors
    ///
    /// If the device fails; a `Mismatch` for a name that no parameter has.
    pub fn keep_f32<S: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, D::Error> {
        for name in names {
            let place = self.params.iter().position(|param| *param.name == *name.as_ref());
            let unknown = || TrainError::Match(unknown(name.as_ref()));
            let place = place.ok_or_else(|| self.device.train_error(unknown()))?;
            self.types[place] = DType::F32;
        }
        self.params = self.device.cast_all(self.masters(), &self.types)?;
        Ok(self)
    }

    /// Replaces the rule's state by this one, in `f32`: momentum, averages, counts of steps.
    ///
    /// # Errors
    ///
    /// If the device fails, or cannot cast the state.
    pub fn with_state(mut self, state: &[Named<D::Tensor>]) -> Result<Self, D::Error> {
        let state = self.device.cast_all(state, &vec![DType::F32; state.len()])?;
        self.current.truncate(self.types.len());
        self.current.extend(state);
        Ok(self)
    }

    /// Returns the masters, in the order of the parameters.
    pub fn masters(&self) -> &[Named<D::Tensor>] {
        &self.current[..self.types.len()]
    }

    /// Returns the state of the rule.
    pub fn state(&self) -> &[Named<D::Tensor>] {
        &self.current[self.types.len()..]
    }
}

impl<D, F> Fp16Optimizer<D, F>
where
    D: MultiTensor<Tensor: Clone> + Download + Upload + Shaped,
    F: FnMut(MasterStep<'_, D::Tensor>) -> Result<MasterSet<D::Tensor>, D::Error>,
{
    /// Returns masters and state as a file has them. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn save(&self) -> Result<MasterSet<RawTensor>, D::Error> {
        let raw = |tensor: &Named<D::Tensor>| -> Result<_, D::Error> {
            let spec = TensorSpec::new(DType::F32, self.device.shape(&tensor.value));
            let values = self.device.download(&tensor.value)?;
            Ok(RawTensor::from_f32(spec, &values).map(|raw| Named::new(tensor.name.clone(), raw)))
        };
        let all = |set: &[Named<D::Tensor>]| -> Result<Vec<_>, D::Error> {
            set.iter().filter_map(|tensor| raw(tensor).transpose()).collect()
        };
        Ok(MasterSet { masters: all(self.masters())?, state: all(self.state())? })
    }

    /// Replaces masters and state by saved ones, and casts the parameters from them.
    ///
    /// # Errors
    ///
    /// If a tensor differs in name, type or shape from the one in its place, or the device fails. Nothing has changed then.
    pub fn load(&mut self, saved: &MasterSet<RawTensor>) -> Result<(), LoadError<D::Error>> {
        let counts = [self.masters().len(), self.state().len()];
        let sets = [("master", &saved.masters), ("state", &saved.state)];
        let mut loaded = Vec::new();
        for ((what, saved), count) in sets.into_iter().zip(counts) {
            for place in 0..count.max(saved.len()) {
                let own = self.current.get(loaded.len()).filter(|_| place < count);
                let raw = saved.get(place);
                loaded.push(self.loaded(what, own, raw)?);
            }
        }
        let params = self.device.cast_all(&loaded[..counts[0]], &self.types);
        self.params = params.map_err(LoadError::Device)?;
        self.current = loaded;
        Ok(())
    }

    /// Returns a saved tensor on the device, if it fits the one in its place.
    fn loaded(
        &self,
        what: &str,
        own: Option<&Named<D::Tensor>>,
        saved: Option<&Named<RawTensor>>,
    ) -> Result<Named<D::Tensor>, LoadError<D::Error>> {
        let expected = own.map(|own| TensorSpec::new(DType::F32, self.device.shape(&own.value)));
        let name = own.map(|own| &own.name).or(saved.map(|saved| &saved.name));
        let name = name.cloned().unwrap_or_else(|| "nothing".into());
        let of_name = saved.filter(|saved| saved.name == name);
        let found = of_name.map(|saved| saved.value.spec());
        SpecMismatch::check(what, &name, found, expected.as_ref())?;
        let values = of_name.and_then(|saved| saved.value.to_f32()).unwrap_or_default();
        let shape = expected.map_or_else(Vec::new, |spec| spec.shape);
        let tensor = self.device.upload(&values, &shape, DType::F32);
        Ok(Named::new(name, tensor.map_err(LoadError::Device)?))
    }
}

fn unknown(name: &str) -> MatchError {
    MatchError {
        parameter: name.into(),
        why: "no parameter has this name; correct it, or leave it out",
    }
}

impl<D, F> Optimizer<D::Grads, D::Found> for Fp16Optimizer<D, F>
where
    D: MultiTensor<Tensor: Clone>,
    F: FnMut(MasterStep<'_, D::Tensor>) -> Result<MasterSet<D::Tensor>, D::Error>,
{
    type Error = D::Error;

    /// Reads `found` only if no parameter has a gradient, which is an error unless the step is skipped.
    fn step(&mut self, grads: D::Grads, found: &D::Found) -> Result<(), D::Error> {
        let grads = self.device.materialise(grads)?;
        let masters = self.masters().iter().map(|master| (&master.name, None));
        let named = grads.iter().map(|grad| (&grad.name, None));
        check_same_parameters(masters, named)
            .map_err(|error| self.device.train_error(TrainError::Match(error)))?;
        if !grads.is_empty() && grads.iter().all(|grad| grad.value.is_none()) {
            let none = TrainError::NoGradients { parameters: grads.len() };
            let is_skipped = self.device.is_raised(found)?;
            return if is_skipped { Ok(()) } else { Err(self.device.train_error(none)) };
        }
        let (masters, state) = self.current.split_at(self.types.len());
        let next = (self.update)(MasterStep { masters, grads: &grads, state })?;
        let next = [next.masters, next.state].concat();
        self.device.assign(&mut self.current, &next, found)?;
        let (masters, _) = self.current.split_at(self.types.len());
        self.params = self.device.cast_all(masters, &self.types)?;
        Ok(())
    }
}

impl<D: MultiTensor, F> fmt::Debug for Fp16Optimizer<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fp16Optimizer").field("types", &self.types).finish_non_exhaustive()
    }
}
