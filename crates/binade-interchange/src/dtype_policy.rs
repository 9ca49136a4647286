//! Policies of jmp and Keras: types of a model's parameters, arithmetic and results.

mod error;

pub use error::DTypePolicyError;

use crate::nearest::nearest_name;
use binade_core::DType;
use std::{fmt, str::FromStr};

/// Names of types in jmp. jmp writes the first name of each type.
const DTYPES: [(&str, DType); 10] = [
    ("bf16", DType::BF16),
    ("bfloat16", DType::BF16),
    ("f16", DType::F16),
    ("float16", DType::F16),
    ("half", DType::F16),
    ("full", DType::F32),
    ("f32", DType::F32),
    ("float32", DType::F32),
    ("f64", DType::F64),
    ("float64", DType::F64),
];

/// Keras 3's policies by name, as in `DTypePolicy._parse_name` of `keras/src/dtype_policies/dtype_policy.py`.
const KERAS: [(&str, DTypePolicy); 6] = [
    ("mixed_bfloat16", DTypePolicy::mixed(DType::BF16)),
    ("mixed_float16", DTypePolicy::mixed(DType::F16)),
    ("bfloat16", DTypePolicy::uniform(DType::BF16)),
    ("float16", DTypePolicy::uniform(DType::F16)),
    ("float32", DTypePolicy::uniform(DType::F32)),
    ("float64", DTypePolicy::uniform(DType::F64)),
];

/// Types of a model's parameters, arithmetic and results, as jmp's `Policy` and Keras's `DTypePolicy`.
///
/// A cast policy decides for every operation, this one once for a model or a layer. Its text is jmp's string; [`keras`](Self::keras) takes Keras's
/// names.
///
/// # jmp's strings
///
/// * One dtype, such as `half`, sets all three.
/// * Otherwise the string has parts separated by commas: `p=` or `params=`, `c=` or `compute=`, `o=` or `output=`, in any order. If a part is
///   repeated, the last wins. Parameters are f32 by default; compute follows parameters, output follows compute.
/// * dtypes are `bf16`, `bfloat16`, `f16`, `float16`, `half`, `full`, `f32`, `float32`, `f64`, `float64`. `half` is f16; in jmp
///   it is bf16 if the first device is a TPU.
/// * Blanks, capitals and a comma at the end are errors.
///
/// `Display` writes a policy as jmp does, with all three parts. Types without a jmp name are written by [`DType::name`], and cannot be read back.
///
/// ```
/// use binade_interchange::DTypePolicy;
/// use binade_core::DType;
///
/// let policy: DTypePolicy = "c=f16,o=f32".parse()?;
/// assert_eq!(policy.params, DType::F32);
/// assert_eq!(policy.to_string(), "p=full,c=f16,o=full");
/// assert_eq!(DTypePolicy::keras("mixed_float16")?, "c=f16".parse()?);
///
/// let mistaken = "params=f32,compute=fp16".parse::<DTypePolicy>().unwrap_err();
/// assert!(mistaken.to_string().starts_with("unknown dtype `fp16` in `compute=fp16`: did you mean `f16`?"));
/// # Ok::<_, binade_interchange::DTypePolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct DTypePolicy {
    /// Type of stored parameters: Keras's variable dtype.
    pub params: DType,
    /// Type that operands are cast to.
    pub compute: DType,
    /// Type that results are cast to.
    pub output: DType,
}

impl DTypePolicy {
    /// Policy with one type for everything.
    const fn uniform(dtype: DType) -> Self {
        Self { params: dtype, compute: dtype, output: dtype }
    }

    /// Policy with parameters in f32, and everything else in `dtype`.
    const fn mixed(dtype: DType) -> Self {
        Self { params: DType::F32, ..Self::uniform(dtype) }
    }

    /// Returns the Keras 3 policy with this name. A layer's results have its compute type.
    ///
    /// # Errors
    ///
    /// Returns [`DTypePolicyError::UnknownName`] for any other name, including the integer types and quantised policies of Keras.
    pub fn keras(name: &str) -> Result<Self, DTypePolicyError> {
        let known = KERAS.iter().find(|(known, _)| *known == name);
        known.map(|&(_, policy)| policy).ok_or_else(|| DTypePolicyError::UnknownName {
            name: name.into(),
            nearest: nearest_name(name, KERAS.iter().map(|&(known, _)| known)),
        })
    }
}

/// Reads jmp's string by the rules of `get_policy` and `parse_dtype` in `jmp/_src/policy.py` (jmp 0.0.4).
impl FromStr for DTypePolicy {
    type Err = DTypePolicyError;

    fn from_str(policy: &str) -> Result<Self, DTypePolicyError> {
        if !policy.contains('=') {
            return dtype(policy, policy).map(Self::uniform);
        }
        let (mut params, mut compute, mut output) = (None, None, None);
        for part in policy.split(',') {
            let (key, value) = pair(part, policy)?;
            // jmp checks the dtype first, and reports it if both are wrong.
            let dtype = dtype(value, part)?;
            let slot = match key {
                "p" | "params" => &mut params,
                "c" | "compute" => &mut compute,
                "o" | "output" => &mut output,
                _ => return Err(unknown_key(key, part)),
            };
            *slot = Some(dtype);
        }
        let params = params.unwrap_or(DType::F32);
        let compute = compute.unwrap_or(params);
        Ok(Self { params, compute, output: output.unwrap_or(compute) })
    }
}

/// Splits a part at its one `=`.
fn pair<'a>(part: &'a str, policy: &str) -> Result<(&'a str, &'a str), DTypePolicyError> {
    let pair = part.split_once('=').filter(|(_, value)| !value.contains('='));
    pair.ok_or_else(|| DTypePolicyError::Malformed { part: part.into(), policy: policy.into() })
}

fn dtype(value: &str, part: &str) -> Result<DType, DTypePolicyError> {
    let known = DTYPES.iter().find(|(name, _)| *name == value);
    known.map(|&(_, dtype)| dtype).ok_or_else(|| DTypePolicyError::UnknownDType {
        value: value.into(),
        part: part.into(),
        nearest: nearest_name(value, DTYPES.iter().map(|&(name, _)| name)),
    })
}

fn unknown_key(key: &str, part: &str) -> DTypePolicyError {
    let nearest = nearest_name(key, ["params", "compute", "output", "p", "c", "o"]);
    DTypePolicyError::UnknownKey { key: key.into(), part: part.into(), nearest }
}

impl fmt::Display for DTypePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |dtype: DType| {
            let known = DTYPES.iter().find(|&&(_, known)| known == dtype);
            known.map_or(dtype.name(), |&(name, _)| name)
        };
        let Self { params, compute, output } = *self;
        write!(f, "p={},c={},o={}", name(params), name(compute), name(output))
    }
}
