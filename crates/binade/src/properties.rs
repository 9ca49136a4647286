//! Parts of an opt level, and what may be changed about it.

use crate::{Illegal, OptLevel};
use binade_cast_policy::Glob;
use binade_core::DType;
use binade_grad_scaler::LossScale;
use binade_interchange::DTypePolicy;

/// Parts of an opt level, after Apex's table:
///
/// | | O0 | O1 | O2 | O3 |
/// |---|---|---|---|---|
/// | `storage`: type of parameters | `f32` | as they are | low | low |
/// | `autocast`: operations cast by policy | no | yes | no | no |
/// | `keep_norm_f32` | – | – | yes | no |
/// | `master_weights` | no | – | yes | no |
/// | `loss_scale`, f16 | 1 | dynamic | dynamic | 1 |
/// | `loss_scale`, bf16 | 1 | 1 | 1 | 1 |
/// | `outputs`: type of a model's outputs | – | – | `f32` | `f32` |
///
/// A dash stands for Apex's `None`: the level leaves the part open. The table is Apex's (`apex/amp/frontend.py` at commit
/// e13873de, the last with `apex.amp`) but for bf16, which Apex would scale as it does f16: bf16 has the exponents of `f32`, so
/// here its scale is 1, and gradients are checked all the same.
///
/// A part is changed by struct update, and the whole is checked by [`check`](Self::check), as [`Setup::new`](crate::Setup::new)
/// does before anything is made. `Display`
/// prints a line for a log.
///
/// ```
/// use binade::{OptLevel, Properties, core::DType, grad_scaler::LossScale};
///
/// let loss_scale = LossScale::fixed(128.0)?;
/// let properties = Properties { loss_scale, ..OptLevel::O2.with(DType::F16) };
/// assert!(properties.check().is_ok());
/// assert_eq!(
///     properties.to_string(),
///     "O2 f16: parameters in f16, normalisation in f32, f32 masters; operations as given; loss scale 2^7, fixed"
/// );
/// # Ok::<(), binade::grad_scaler::LossScaleError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// Level that these started from.
    pub level: OptLevel,
    /// Low type.
    pub dtype: DType,
    /// Type that parameters are stored in, bf16, f16 or f32; `None` if they keep the types they have.
    pub storage: Option<DType>,
    /// True if operations are cast by policy.
    pub autocast: bool,
    /// True if normalisation stays in `f32`; `None` if the level leaves it open.
    pub keep_norm_f32: Option<bool>,
    /// True if low-precision parameters have `f32` masters; `None` if the level leaves it open. O3 alone may go without.
    pub master_weights: Option<bool>,
    /// Rule by which the loss scale moves: one's own, or that of a library by name, as `LossScale::preset("deepspeed")?`.
    pub loss_scale: LossScale,
    /// True if f16 may go without a loss scale above 1, so that gradients up to 2^-25 become zero.
    pub unscaled_f16: bool,
    /// Type that [`Setup::output`](crate::Setup::output) brings a model's outputs to, as Apex's `cast_model_outputs`; `None` if they
    /// keep the type they have.
    pub outputs: Option<DType>,
    /// Policies of layers by path: see [`with_layer`](Self::with_layer).
    pub layers: Vec<(Glob, DTypePolicy)>,
    /// True if mixed precision is on at all; [`with_enabled`](Self::with_enabled) turns it off.
    pub enabled: bool,
}

/// The level with the types of a policy of jmp's or Keras's: parameters in f32 and compute in bf16 or f16 are O1, which casts by
/// operation; both in bf16 or f16 are O2, with f32 masters; both in f32 are O0. Outputs are brought to the policy's.
///
/// ```
/// use binade::{OptLevel, Properties, core::DType, interchange::DTypePolicy};
///
/// let properties = Properties::try_from(DTypePolicy::keras("mixed_float16")?)?;
/// let expected = Properties { outputs: Some(DType::F16), ..OptLevel::O1.with(DType::F16) };
/// assert_eq!(properties, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// For any other pair of types; [`check`](Properties::check) looks at the output.
impl TryFrom<DTypePolicy> for Properties {
    type Error = Illegal;

    fn try_from(policy: DTypePolicy) -> Result<Self, Illegal> {
        let DTypePolicy { params, compute, output } = policy;
        let level = match (params, compute) {
            (DType::F32, DType::F32) => OptLevel::O0,
            (DType::F32, DType::BF16 | DType::F16) => OptLevel::O1,
            (DType::BF16, DType::BF16) | (DType::F16, DType::F16) => OptLevel::O2,
            _ => {
                return Err(Illegal(format!(
                    "no opt level is `{policy}`: parameters are f32, or of the type computed in; take `p=full,c=f16`, which is \
                     O1, `f16`, which is O2, or `full`, which is O0"
                )));
            }
        };
        Ok(Self { outputs: Some(output), ..level.with(compute) })
    }
}

impl Properties {
    pub(crate) fn of(level: OptLevel, dtype: DType) -> Self {
        let scaled = matches!(level, OptLevel::O1 | OptLevel::O2) && dtype == DType::F16;
        Self {
            level,
            dtype,
            storage: match level {
                OptLevel::O0 => Some(DType::F32),
                OptLevel::O1 => None,
                OptLevel::O2 | OptLevel::O3 => Some(dtype),
            },
            autocast: level == OptLevel::O1,
            keep_norm_f32: match level {
                OptLevel::O0 | OptLevel::O1 => None,
                OptLevel::O2 => Some(true),
                OptLevel::O3 => Some(false),
            },
            master_weights: match level {
                OptLevel::O1 => None,
                OptLevel::O2 => Some(true),
                OptLevel::O0 | OptLevel::O3 => Some(false),
            },
            loss_scale: if scaled { LossScale::dynamic() } else { LossScale::none() },
            unscaled_f16: level == OptLevel::O3,
            outputs: match level {
                OptLevel::O0 | OptLevel::O1 => None,
                OptLevel::O2 | OptLevel::O3 => Some(DType::F32),
            },
            layers: Vec::new(),
            enabled: true,
        }
    }

    /// Turns mixed precision on or off. `false` is Apex's `enabled=False`: parameters, operations, losses and outputs stay as
    /// they are under every other choice, and the same program trains without mixed precision.
    #[must_use]
    pub fn with_enabled(self, on: bool) -> Self {
        if on {
            return Self { enabled: true, ..self };
        }
        Self {
            storage: None,
            autocast: false,
            keep_norm_f32: None,
            master_weights: None,
            loss_scale: LossScale::none(),
            unscaled_f16: true,
            outputs: None,
            layers: Vec::new(),
            enabled: false,
            ..self
        }
    }
}
