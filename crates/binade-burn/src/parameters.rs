//! Parameters of a module by path: read and replaced.

use crate::{BurnTensor, Error, TensorError, dtype, path::Path};
use binade_core::{AmpTensor, HostDeviceError, Named};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the floating-point parameters of `module` by path, in the order in which the module is visited. They are the stored tensors, without
/// views. Running statistics are included; quantised parameters are not.
pub fn parameters<M: Module>(module: &M) -> Vec<Named<BurnTensor>> {
    let mut visitor = Visitor::default();
    module.visit(&mut visitor);
    visitor.named
}

/// Returns `module` with new values of the listed parameters, by path. Other parameters keep theirs.
///
/// This example lets several ranks begin with the parameters of the first rank:
///
/// ```
/// use binade_burn::{Burn, parameters, with_parameters};
/// use binade_ranks::{Alone, Ranks};
/// use burn::{nn::LinearConfig, tensor::Device};
///
/// let module = LinearConfig::new(4, 2).init(&Device::flex().autodiff());
/// let mut params = parameters(&module);
/// Ranks::new(Burn, Alone).broadcast(&mut params)?;
/// let module = with_parameters(module, params)?;
/// # assert_eq!(module.weight.dims(), [4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a value has no parameter of its path, or another shape or type than its parameter.
pub fn with_parameters<M: Module>(module: M, values: Vec<Named<BurnTensor>>) -> Result<M, Error> {
    let waiting = values.into_iter().map(|named| (named.name, named.value)).collect();
    let mut mapper = Mapper { waiting, path: Path::default(), error: None };
    let module = module.map(&mut mapper);
    if let Some(error) = mapper.error {
        return Err(error.into());
    }
    match mapper.waiting.into_keys().min() {
        None => Ok(module),
        Some(parameter) => Err(HostDeviceError::Mismatch { parameter, why: STRANGER }),
    }
}

const STRANGER: &str = "a value came for it, and the module has no floating-point parameter of that path: give what `parameters` of this module gave";

#[derive(Default)]
struct Visitor {
    path: Path,
    named: Vec<Named<BurnTensor>>,
}

impl ModuleVisitor for Visitor {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let base = param.base();
        if dtype::known(base.dtype()).is_some() {
            self.named.push(Named::new(self.path.full(), BurnTensor::from(base)));
        }
    }
}

struct Mapper {
    path: Path,
    waiting: HashMap<Arc<str>, BurnTensor>,
    error: Option<TensorError>,
}

impl Mapper {
    fn take<const D: usize>(&mut self, old: &Tensor<D>) -> Result<Option<Tensor<D>>, TensorError> {
        let path = self.path.full();
        let Some(value) = self.waiting.remove(path.as_str()) else { return Ok(None) };
        let held = dtype::known(old.dtype());
        if value.shape() != old.shape().as_slice() || Some(AmpTensor::dtype(&value)) != held {
            let (of, is) = (value.shape(), old.shape());
            let why = format!(
                "a value of shape {of:?} in {} came for it, and it is of {:?} in {:?}: give what `parameters` of this module gave",
                AmpTensor::dtype(&value),
                is.as_slice(),
                old.dtype(),
            );
            return Err(TensorError::Parameter { path, why });
        }
        let device = old.device();
        let value = value.to_device(&device).to_tensor::<D>()?;
        if !device.is_autodiff() {
            return Ok(Some(value.inner()));
        }
        Ok(Some(value.autodiff().detach().set_require_grad(old.is_require_grad())))
    }
}

impl ModuleMapper for Mapper {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|old| match self.take(&old) {
            Ok(new) => new.unwrap_or(old),
            Err(error) => {
                self.error.get_or_insert(error);
                old
            }
        })
    }
}
