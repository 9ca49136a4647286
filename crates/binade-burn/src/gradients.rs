//! Gradients by path, from burn's gradients by parameter number, and back.

use crate::path::Path;
use crate::{BurnTensor, Error, TensorError, dtype};
use binade_core::{AmpTensor, DType, HostDeviceError, Named, NamedGrads};
use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl BurnTensor {
    /// Runs burn's backward pass from this loss and returns the gradients of `module`'s parameters by path.
    ///
    /// # Errors
    ///
    /// If the loss depends on no parameter that requires a gradient.
    pub fn backward<M: Module>(&self, module: &M) -> Result<NamedGrads<Self>, Error> {
        if !self.flat().is_tracked() {
            return Err(TensorError::Untracked.into());
        }
        named_gradients(module, GradientsParams::from_grads(self.flat().backward(), module))
    }
}

/// Returns burn's gradients of `module`'s parameters by path, in the order in which the module is visited.
///
/// Each parameter that requires a gradient has an entry, `None` if burn has no gradient for it. So the step reports a missing gradient by name.
///
/// # Errors
///
/// If some of `grads` belong to no parameter of `module`, or a parameter that requires a gradient is in the module twice. burn's error, if the
/// backward pass failed; the function waits for its end.
pub fn named_gradients<M: Module>(
    module: &M,
    grads: GradientsParams,
) -> Result<NamedGrads<BurnTensor>, Error> {
    let mut visitor = Names { grads, ..Names::default() };
    module.visit(&mut visitor);
    if let Some(error) = visitor.error {
        return Err(error.into());
    }
    if !visitor.grads.is_empty() {
        return Err(TensorError::Strangers { count: visitor.grads.len() }.into());
    }
    // Reading a gradient after a failed backward pass would panic.
    for grad in visitor.named.iter().filter_map(|grad| grad.value.as_ref()) {
        grad.device().sync().map_err(TensorError::from)?;
    }
    Ok(visitor.named)
}

/// Returns gradients by path in the form that burn's optimizers take, without those that are `None`.
///
/// # Errors
///
/// If a gradient has no parameter that requires one, has another shape than its parameter, or its parameter is stored in sixteen bits, where a step
/// in `f32` would need a master.
pub fn gradients_params<M: Module>(
    module: &M,
    grads: NamedGrads<BurnTensor>,
) -> Result<GradientsParams, Error> {
    let mut visitor = Numbers { waiting: by_name(grads)?, ..Numbers::default() };
    module.visit(&mut visitor);
    if let Some(error) = visitor.error {
        return Err(error.into());
    }
    match visitor.waiting.into_keys().min() {
        None => Ok(visitor.params),
        Some(parameter) => Err(HostDeviceError::Mismatch { parameter, why: STRANGER }),
    }
}

const STRANGER: &str = "a gradient came for it, and the module has no parameter of that path that requires one: take gradients from a loss of this module, after the last change of what is frozen";
const TWICE: &str = "two gradients came for it: give one, or accumulate them first";

fn by_name(grads: NamedGrads<BurnTensor>) -> Result<HashMap<Arc<str>, Option<BurnTensor>>, Error> {
    let mut waiting = HashMap::new();
    for Named { name, value } in grads {
        if waiting.insert(name.clone(), value).is_some() {
            return Err(HostDeviceError::Mismatch { parameter: name, why: TWICE });
        }
    }
    Ok(waiting)
}

/// Takes each parameter's gradient out of burn's.
#[derive(Default)]
struct Names {
    path: Path,
    seen: HashMap<ParamId, String>,
    grads: GradientsParams,
    named: NamedGrads<BurnTensor>,
    error: Option<TensorError>,
}

/// Returns the reason why a parameter that is also at `first` is refused.
fn tied(first: &str) -> String {
    format!(
        "it is also `{first}`, and burn's optimizers move a parameter at one of its places alone, so that after a step there are two of \
         one number: keep one, and use it twice in `forward`"
    )
}

impl ModuleVisitor for Names {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let path = self.path.full();
        if let Some(first) = self.seen.insert(param.id, path.clone()) {
            if param.is_require_grad() {
                self.error = Some(TensorError::Parameter { path, why: tied(&first) });
            }
            return;
        }
        let grad = self.grads.remove::<D>(param.id);
        if grad.is_some() || param.is_require_grad() {
            self.named.push(Named::new(path, grad.map(BurnTensor::from)));
        }
    }
}

/// Puts each parameter's gradient into burn's.
#[derive(Default)]
struct Numbers {
    path: Path,
    seen: HashSet<ParamId>,
    waiting: HashMap<Arc<str>, Option<BurnTensor>>,
    params: GradientsParams,
    error: Option<TensorError>,
}

impl Numbers {
    fn take<const D: usize>(&mut self, param: &Param<Tensor<D>>) -> Result<(), TensorError> {
        let path = self.path.full();
        let Some(grad) = self.waiting.remove(path.as_str()) else { return Ok(()) };
        let Some(grad) = grad else { return Ok(()) };
        let refuse = |why: String| Err(TensorError::Parameter { path: path.clone(), why });
        let (shape, held) = (param.shape(), dtype::known(param.base().dtype()));
        if shape.as_slice() != grad.shape() {
            let (of, is) = (grad.shape(), shape.as_slice());
            return refuse(format!("its gradient is of shape {of:?}, and the parameter of {is:?}"));
        }
        let grad = match held {
            // The cast is exact. burn steps a parameter only by a gradient of its own type.
            Some(wide @ (DType::F32 | DType::F64)) => grad.cast(wide)?,
            Some(low) => {
                return refuse(format!(
                    "it is held in {low}, where small steps are lost: hold it in f32, and attach `Views` to compute in {low}"
                ));
            }
            None => return refuse("it is quantised, and has no gradient: freeze it".to_owned()),
        };
        // An average over ranks is on the host.
        let grad = grad.to_device(&param.base().device().inner());
        self.params.register(param.id, grad.to_tensor::<D>()?.inner());
        Ok(())
    }
}

impl ModuleVisitor for Numbers {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.seen.insert(param.id) && self.error.is_none() {
            self.error = self.take(param).err();
        }
    }
}
