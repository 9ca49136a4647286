//! Policies of types by layer path, and the region that properties make.

use crate::{Illegal, Properties, illegal::is_low};
use binade_autocast::Region;
use binade_cast_policy::{CastPolicy, CastRule, Glob, OpCall, OpTable, Overrides, PolicyError};
use binade_core::{DType, Op, OpClass};
use binade_interchange::DTypePolicy;
use std::sync::Arc;

impl Properties {
    /// Adds a policy for the layers whose path is covered by `pattern`, as Keras's `DTypePolicyMap` does. The last pattern that covers
    /// a path wins.
    ///
    /// * `compute`: every operation at the path casts its operands to this type, softmax and losses too.
    /// * `params`: the layers' parameters are stored in this type. A parameter's layer is its name without the last part, so that
    ///   `head.**` covers `head.out.weight`. [`initialize`](crate::initialize) refuses a pattern that covers no parameter of a model whose
    ///   [names it knows](crate::Model::named); [`Setup`](crate::Setup), which may be of several models, does not.
    /// * `output`: [`Setup::output_at`](crate::Setup::output_at) casts to this type.
    ///
    /// ```
    /// use binade::{OptLevel, Properties, core::DType, interchange::DTypePolicy};
    ///
    /// let mixed = Properties::try_from(DTypePolicy::keras("mixed_float16")?)?;
    /// let properties = mixed.with_layer("head.**", DTypePolicy::keras("float32")?);
    /// assert_eq!(properties.layer("head.out").map(|policy| policy.compute), Some(DType::F32));
    /// assert_eq!(properties.layer("body"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_layer(mut self, pattern: impl Into<Glob>, policy: DTypePolicy) -> Self {
        self.layers.push((pattern.into(), policy));
        self
    }

    /// Returns the policy that the layer at `path` has of its own.
    pub fn layer(&self, path: &str) -> Option<DTypePolicy> {
        self.layers
            .iter()
            .rev()
            .find(|(pattern, _)| pattern.covers(path))
            .map(|&(_, policy)| policy)
    }

    /// Returns the type that the policy of a parameter's layer stores it in.
    pub(crate) fn layer_storage(&self, parameter: &str) -> Option<DType> {
        self.layer(layer_of(parameter)).map(|policy| policy.params)
    }

    /// Checks that each pattern covers the layer of one of these parameters.
    pub(crate) fn check_covered(&self, parameters: &[Arc<str>]) -> Result<(), Illegal> {
        let covers =
            |pattern: &Glob| parameters.iter().any(|parameter| pattern.covers(layer_of(parameter)));
        match self.layers.iter().find(|(pattern, _)| !covers(pattern)) {
            None => Ok(()),
            Some((pattern, _)) => Err(Illegal(format!(
                "the properties name the layers `{pattern}`, and no parameter's layer has that path; look for a typing error. `Setup` takes \
                 patterns of layers without parameters"
            ))),
        }
    }

    /// Returns true if a layer stores its parameters in another type than the level does.
    pub(crate) fn stores_by_layer(&self) -> bool {
        self.layers
            .iter()
            .any(|(_, policy)| Some(policy.params) != self.storage.or(Some(DType::F32)))
    }

    pub(crate) fn check_layers(&self) -> Result<(), Illegal> {
        for (pattern, policy) in &self.layers {
            let refuse = |why: String| {
                Err(Illegal(format!("{} with `{policy}` at `{pattern}`: {why}", self.level)))
            };
            if !fits(policy.compute) || !fits(policy.output) || !fits(self.dtype) {
                return refuse(
                    "a layer computes in bf16, f16 or f32, and so are its results".into(),
                );
            }
            let usual = self.storage.unwrap_or(DType::F32);
            if policy.params != DType::F32 && policy.params != usual {
                return refuse(format!(
                    "its parameters are in {usual}, as the level says, or in f32; for others choose O2 in that type"
                ));
            }
        }
        Ok(())
    }

    /// Returns the region of these properties, which are checked: off where no operation has anything to cast.
    pub(crate) fn region(&self) -> Region {
        let region = if self.autocast {
            self.over(OpTable::apex_o1())
        } else if self.storage.is_some_and(is_low) || !self.layers.is_empty() {
            self.over(AsTheWeight)
        } else {
            return Region::bf16().off();
        };
        // A region that is off has no use for its type; all others were checked.
        region.unwrap_or_else(|_| Region::bf16().off())
    }

    fn over(&self, base: impl CastPolicy + 'static) -> Result<Region, PolicyError> {
        let policy = self.layers.iter().fold(Overrides::over(base), |over, (pattern, policy)| {
            let rule = if policy.compute == DType::F32 {
                CastRule::F32
            } else {
                CastRule::To(policy.compute)
            };
            over.path(pattern.clone(), rule)
        });
        Region::new(self.dtype, policy)
    }
}

/// Returns the path of a parameter's layer.
fn layer_of(parameter: &str) -> &str {
    parameter.rsplit_once('.').map_or("", |(layer, _)| layer)
}

/// Returns true for a type that layers compute in.
fn fits(dtype: DType) -> bool {
    is_low(dtype) || dtype == DType::F32
}

/// Policy of levels that store parameters in 16 bits. A linear layer or convolution runs in the type of its second operand, the weight,
/// as if the input had been cast before. Every other operation runs in the types that it is given: the second operand of other products
/// need not be a weight.
#[derive(Clone, Copy, Debug)]
struct AsTheWeight;

impl CastPolicy for AsTheWeight {
    fn rule(&self, call: &OpCall<'_>) -> CastRule {
        let is_linear = [Op::LINEAR, Op::LINEAR_RELU].contains(&call.op);
        let takes_weight = is_linear || call.op.class() == OpClass::Conv;
        match call.operands {
            [input, weight, ..] if takes_weight && input != weight && fits(*weight) => {
                CastRule::To(*weight)
            }
            _ => CastRule::Untouched,
        }
    }
}
