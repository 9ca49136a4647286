//! Types of a whole model's parameters, arithmetic and results: jmp's and Keras's policy.

mod error;
mod jmp;
mod keras;

pub use error::DTypePolicyError;

use binade_core::{DType, nearest_name};

/// Types of a model's parameters, of its arithmetic and of its results: jmp's `Policy`, Keras's `DTypePolicy`.
///
/// A cast policy is asked at every operation, this one once for a model or a layer. Its text is jmp's string, and
/// [`keras`](Self::keras) knows Keras's names.
///
/// # jmp's strings
///
/// * One dtype, such as `half`, sets all three.
/// * Otherwise parts with commas between: `p=` or `params=`, `c=` or `compute=`, `o=` or `output=`, in any order. The last of
///   several for one of the three wins. Parameters are f32 by default; compute follows parameters, output follows compute.
/// * dtypes are `bf16`, `bfloat16`, `f16`, `float16`, `half`, `full`, `f32`, `float32`, `f64`, `float64`. `half` is f16; in jmp
///   it is bf16 if the first device is a TPU.
/// * Blanks, capitals and a comma at the end are errors.
///
/// `Display` writes a policy as jmp does, with all three parts; types that jmp has no name for go by [`DType::name`], and do not
/// read back.
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
    /// Type that parameters are held in: Keras's variable dtype.
    pub params: DType,
    /// Type that operands are cast to.
    pub compute: DType,
    /// Type that results are cast to.
    pub output: DType,
}

impl DTypePolicy {
    /// Policy of one type for everything.
    pub const fn uniform(dtype: DType) -> Self {
        Self { params: dtype, compute: dtype, output: dtype }
    }

    /// Policy of parameters in f32, and everything else in `dtype`.
    pub const fn mixed(dtype: DType) -> Self {
        Self { params: DType::F32, ..Self::uniform(dtype) }
    }

    /// Returns the policy with another type of results.
    #[must_use]
    pub const fn with_output(self, output: DType) -> Self {
        Self { output, ..self }
    }

    /// Returns the policy that a name has in Keras 3; [`keras_names`](Self::keras_names) lists them. A layer's results are of the
    /// type that it computes in.
    ///
    /// # Errors
    ///
    /// [`DTypePolicyError::UnknownName`] for any other. Keras also takes integer types and quantised policies.
    pub fn keras(name: &str) -> Result<Self, DTypePolicyError> {
        let known = keras::POLICIES.iter().find(|(known, _)| *known == name);
        known.map(|&(_, policy)| policy).ok_or_else(|| DTypePolicyError::UnknownName {
            name: name.into(),
            nearest: nearest_name(name, Self::keras_names()),
        })
    }

    /// Names that [`keras`](Self::keras) knows.
    pub fn keras_names() -> impl Iterator<Item = &'static str> {
        keras::POLICIES.iter().map(|&(name, _)| name)
    }
}
