//! Low-precision views of `f32` parameters, by burn's reparameterisation: the model's code stays as it is.

mod survey;

use crate::{Error, TensorError, require_dtype};
use binade_cast_policy::{CastPolicy, Glob};
use binade_core::{DType, Op};
use burn::module::{Module, Param, Reparameterization, Reparameterizer};
use burn::tensor::{FloatDType, Tensor};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use survey::{Survey, Surveyed};

/// Choice of the parameters that a module computes with in another type than the `f32` that they are held in.
///
/// The `f32` parameter is what is stored, stepped and saved, and so is its own master. Each use casts it, and gradients come back
/// through the cast in `f32`.
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
    /// Policy that chooses, if not every parameter is lowered.
    policy: Option<Arc<dyn CastPolicy>>,
    keep: Vec<Glob>,
}

impl Views {
    /// Views of every parameter in `dtype`.
    ///
    /// burn's `LayerNorm` computes in `f32` if it is given f16, and in bf16 if it is given bf16. For more precision,
    /// [`keep`](Self::keep) it and cast its input.
    pub const fn lower(dtype: DType) -> Self {
        Self { dtype, policy: None, keep: Vec::new() }
    }

    /// Views of parameters in the types that `policy` gives to operands of their layers, in a region of type `dtype`.
    ///
    /// The policy is asked at the layer's path for `linear` (burn's `Linear`), `conv2d` (its convolutions), `layer_norm`
    /// (`LayerNorm`, `GroupNorm`, `InstanceNorm`), `rms_norm`, `batch_norm`, `embedding`, and for `parameter` if a layer is none
    /// of these. All parameters of a layer get one answer, and how much the layer sums depends on its input, so that no override
    /// by elements or an attribute applies. A parameter that the policy leaves, or wants in `f32`, stays as it is held.
    pub fn by_policy(policy: impl CastPolicy + 'static, dtype: DType) -> Self {
        Self { dtype, policy: Some(Arc::new(policy)), keep: Vec::new() }
    }

    /// Leaves parameters as they are held whose path `pattern` covers, as `encoder.*.norm.*` does.
    #[must_use]
    pub fn keep(mut self, pattern: impl Into<Glob>) -> Self {
        self.keep.push(pattern.into());
        self
    }

    /// Attaches these views to `module`. burn's `materialize` undoes it, and leaves parameters in the views' type.
    ///
    /// # Errors
    ///
    /// `Unsupported` if a parameter's device does not compute in the type or the policy refuses a layer; `Mismatch` if a
    /// parameter is not held in `f32`, or has a reparameterisation already, of which burn allows one, or is a `BatchNorm`'s,
    /// whose running statistics are in `f32`, so that `forward` would panic; `InvalidArgument` if a pattern to
    /// [`keep`](Self::keep) covers no parameter, since the parameters that it was meant for would be lowered.
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

    /// Type that a parameter is to be computed with in; `None` for the type that it is held in.
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

/// Refuses batch normalisations among lowered parameters, and names what to keep of all of them.
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

/// View of a parameter: it is cast to this type at each use.
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

/// Types by path; other parameters are left as they are.
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
