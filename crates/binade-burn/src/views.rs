//! Low-precision views of `f32` parameters by burn's reparameterisation, without changes to the model's code.

mod survey;

use crate::{Error, TensorError, require_dtype};
use binade_cast_policy::{CastPolicy, Glob};
use binade_core::{DType, Op};
use burn::module::{Module, Param, Reparameterization, Reparameterizer};
use burn::tensor::{FloatDType, Tensor};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use survey::{Survey, Surveyed};

/// Choice of the `f32` parameters that a module computes with in another type, and of that type.
///
/// The module stores, steps and saves the `f32` parameter, which is its own master. Each use casts it, and its gradient passes back through the cast
/// in `f32`.
///
/// ```
/// use binade_burn::Views;
/// use binade_core::{DType, Op};
/// use burn::{nn::LinearConfig, tensor::{DType as BurnDType, Device}};
///
/// let linear = LinearConfig::new(4, 2).init(&Device::flex().autodiff());
/// let linear = Views::lower(DType::F16).keep("bias").attach(linear)?;
/// assert_eq!(linear.weight.val().dtype(), BurnDType::F16);   // what `forward` computes with
/// assert_eq!(linear.weight.base().dtype(), BurnDType::F32);  // what is trained
/// assert_eq!(linear.bias.unwrap().val().dtype(), BurnDType::F32);
/// # Ok::<(), binade_burn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Views {
    dtype: DType,
    /// Policy that chooses the types; `None` to lower every parameter.
    policy: Option<Arc<dyn CastPolicy>>,
    keep: Vec<Glob>,
}

impl Views {
    /// Creates views of every parameter in `dtype`.
    ///
    /// burn's `LayerNorm` computes in `f32` on inputs of f16, but in bf16 on inputs of bf16. For more precision, [`keep`](Self::keep) it and cast its
    /// input.
    pub const fn lower(dtype: DType) -> Self {
        Self { dtype, policy: None, keep: Vec::new() }
    }

    /// Creates views of parameters in the types that `policy` chooses for operands of their layers, in a region of type `dtype`.
    ///
    /// The policy is asked with the layer's path and one of the operations `linear` (burn's `Linear`), `conv2d` (its convolutions), `layer_norm`
    /// (`LayerNorm`, `GroupNorm`, `InstanceNorm`), `rms_norm`, `batch_norm` and `embedding`; for any other layer, `parameter`. All parameters of a
    /// layer get one answer. The number of terms that a layer sums depends on its input, so overrides by elements or by an attribute do not apply. A
    /// parameter that the policy leaves, or wants in `f32`, stays as it is stored.
    pub fn by_policy(policy: impl CastPolicy + 'static, dtype: DType) -> Self {
        Self { dtype, policy: Some(Arc::new(policy)), keep: Vec::new() }
    }

    /// Leaves parameters as they are stored if `pattern`, such as `encoder.*.norm.*`, covers their path.
    #[must_use]
    pub fn keep(mut self, pattern: impl Into<Glob>) -> Self {
        self.keep.push(pattern.into());
        self
    }

    /// Attaches these views to `module`. burn's `materialize` undoes it, and leaves parameters in the views' type.
    ///
    /// # Errors
    ///
    /// `Unsupported` if a parameter's device does not compute in the type, or the policy refuses a layer. `Mismatch` if a parameter is not stored in
    /// `f32`, has a reparameterisation already (burn allows one), or is lowered and belongs to a `BatchNorm`: its running statistics are in `f32`, so
    /// `forward` would panic. `InvalidArgument` if a pattern given to [`keep`](Self::keep) covers no parameter.
    pub fn attach<M: Module>(&self, module: M) -> Result<M, Error> {
        let mut survey = Survey::default();
        module.visit(&mut survey);
        self.keep_some(&survey.parameters)?;
        let mut lowered = Vec::new();
        for parameter in survey.parameters {
            let to = self.dtype_of(&parameter)?;
            if let Some(to) = to.filter(|to| Some(*to) != parameter.dtype) {
                lowered.push((parameter, to));
            }
        }
        no_batch_norm(&lowered)?;
        let chosen = lowered.into_iter().map(|(parameter, to)| {
            let float = allowed(&parameter, to)?;
            Ok((parameter.path, float))
        });
        let chosen = chosen.collect::<Result<_, TensorError>>()?;
        Ok(module.apply_reparameterization(Chosen(chosen)))
    }

    /// Refuses a pattern that covers no parameter.
    fn keep_some(&self, parameters: &[Surveyed]) -> Result<(), TensorError> {
        let covers = |pattern: &Glob| parameters.iter().any(|one| pattern.covers(&one.path));
        match self.keep.iter().find(|pattern| !covers(pattern)) {
            None => Ok(()),
            Some(pattern) => Err(TensorError::NothingKept {
                pattern: pattern.to_string(),
                count: parameters.len(),
                first: parameters.first().map(|one| one.path.clone()).unwrap_or_default(),
            }),
        }
    }

    /// Returns the type that a parameter is used in; `None` for the type that it is stored in.
    fn dtype_of(&self, parameter: &Surveyed) -> Result<Option<DType>, TensorError> {
        if self.keep.iter().any(|pattern| pattern.covers(&parameter.path)) {
            return Ok(None);
        }
        let Some(policy) = &self.policy else { return Ok(Some(self.dtype)) };
        let held = parameter.dtype.unwrap_or(DType::F32);
        let operands = [held];
        let call = parameter.call(&operands);
        let decision = policy.rule(&call).decide(&call, self.dtype);
        Ok(decision.map_err(TensorError::Refused)?.cast(held))
    }
}

/// Refuses lowered parameters of batch normalisations, and names all layers to keep.
fn no_batch_norm(lowered: &[(Surveyed, DType)]) -> Result<(), TensorError> {
    let mut of_batch_norm = lowered.iter().filter(|(one, _)| one.op == Op::BATCH_NORM).peekable();
    let Some((Surveyed { path, .. }, to)) = of_batch_norm.peek() else { return Ok(()) };
    let (path, to) = (path.clone(), *to);
    let keep: BTreeSet<String> = of_batch_norm.map(|(one, _)| one.keep_layer()).collect();
    let keep = keep.into_iter().collect::<String>();
    let why = format!(
        "it is a `BatchNorm`'s, which burn computes in f32 alone, since its running statistics are f32; add `{keep}` to these views, and cast \
         around the layer in `forward`: its input to f32, its output to {to}"
    );
    Err(TensorError::Parameter { path, why })
}

fn allowed(parameter: &Surveyed, to: DType) -> Result<FloatDType, TensorError> {
    let Surveyed { path, dtype, device, is_reparameterized, .. } = parameter;
    let refuse = |why: String| Err(TensorError::Parameter { path: path.clone(), why });
    if *dtype != Some(DType::F32) {
        let held = dtype.map_or("quantised form", DType::name);
        return refuse(format!(
            "it is held in {held}: hold it in f32, so that steps of it are not lost, or keep it"
        ));
    }
    if *is_reparameterized {
        return refuse(
            "it has a reparameterisation, and burn allows one: attach views first, or keep this parameter".to_owned(),
        );
    }
    require_dtype(device, to)
}

/// View of a parameter, which is cast to this type at each use.
#[derive(Module, Debug)]
pub(crate) struct View {
    #[module(skip)]
    dtype: FloatDType,
}

impl Reparameterization for View {
    const NAME: &'static str = "view";

    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        base.cast(self.dtype)
    }
}

/// Types by path; parameters without one are left as they are.
struct Chosen(HashMap<String, FloatDType>);

impl Reparameterizer for Chosen {
    type Reparam = View;

    fn reparameterize<const D: usize>(
        &mut self,
        path: &str,
        param: Param<Tensor<D>>,
    ) -> (Param<Tensor<D>>, Option<View>) {
        (param, self.0.get(path).map(|&dtype| View { dtype }))
    }
}
