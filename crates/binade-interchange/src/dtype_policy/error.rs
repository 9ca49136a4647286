//! Errors of texts that are not a policy.

use binade_core::ErrorKind;

/// Reason why a text is not a [`DTypePolicy`](crate::DTypePolicy).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DTypePolicyError {
    /// A dtype that jmp does not have.
    #[error(
        "unknown dtype `{value}` in `{part}`: did you mean `{nearest}`? jmp has bf16, bfloat16, f16, float16, half, full, \
         f32, float32, f64 and float64, without blanks or capitals"
    )]
    UnknownDType {
        /// Name of the dtype as written.
        value: Box<str>,
        /// Part that it stands in.
        part: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
    /// Part with a key other than the three.
    #[error(
        "unknown key `{key}` in `{part}`: did you mean `{nearest}`? jmp has p or params, c or compute, o or output, without \
         blanks or capitals"
    )]
    UnknownKey {
        /// Key: the text before the `=`.
        key: Box<str>,
        /// Part that it stands in.
        part: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
    /// Part without `=`, or with several.
    #[error(
        "`{part}` in `{policy}` is not one key, `=` and one dtype: write parts as `c=f16`, with commas between and none at the \
         end"
    )]
    Malformed {
        /// Text between two commas.
        part: Box<str>,
        /// Whole text.
        policy: Box<str>,
    },
    /// Name that Keras does not have, or that is not supported.
    #[error(
        "Keras has no policy called `{name}` that is known here: did you mean `{nearest}`? There are mixed_bfloat16, \
         mixed_float16, bfloat16, float16, float32 and float64"
    )]
    UnknownName {
        /// Name asked for.
        name: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
}

impl binade_core::Error for DTypePolicyError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
